"""Hive catalog, shared with Hive and with Apache Paimon's Hive catalog (Paimon: `HiveCatalog`)."""
