"""The SQL dialect: Paimon's, Flink's and Spark's spellings in, canonical Spark SQL out; nothing is evaluated here."""
