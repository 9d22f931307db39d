"""The benchmark: paimon-sql side by side with plain Spark Parquet, Delta and Iceberg. See README.md."""
