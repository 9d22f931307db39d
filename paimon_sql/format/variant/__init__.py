"""Variants in Parquet's binary encoding: parsing, shredding into typed columns, and assembly, all vectorized.

Columns are processed one nesting level after another (spec: Parquet, "Variant Binary Encoding" and "Variant
Shredding").
"""
