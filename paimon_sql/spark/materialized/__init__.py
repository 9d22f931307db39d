"""Materialized tables in a session of Spark: their queries analysed, their rows worked out and written."""
