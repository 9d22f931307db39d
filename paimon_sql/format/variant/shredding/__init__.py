"""Shredding of variants into typed columns (spec: Parquet, "Variant Shredding")."""
