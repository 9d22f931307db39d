"""Variants stored as typed columns (spec: Parquet, "Variant Shredding")."""
