"""The SQL dialect: from Paimon's, Flink's and Spark's spellings to canonical Spark SQL, without evaluation."""
