"""Variants in Parquet's binary encoding, many at once: looked into, taken apart into typed columns, put together.

All work is done over whole columns, one depth of the values after another (spec: Parquet, "Variant Binary Encoding"
and "Variant Shredding").
"""
