"""The catalog that Hive's metastore keeps, as Apache Paimon's Hive catalog does, so that Hive and Java share it."""
