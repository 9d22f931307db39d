"""Layout of entries in Hive's metastore: tables, columns and locations."""
