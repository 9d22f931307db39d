"""Conversion between Paimon and Spark: types, values, rows, references."""
