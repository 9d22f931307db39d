"""How Hive's metastore stores tables, columns and locations."""
