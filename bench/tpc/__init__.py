"""TPC-H and TPC-DS: their tables and queries as DuckDB's extensions make them, measured as ratios to Parquet."""
