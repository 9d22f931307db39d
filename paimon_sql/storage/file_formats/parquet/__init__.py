"""The Parquet file format."""
