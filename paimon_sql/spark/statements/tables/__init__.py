"""Carried statements for tables, columns and partitions."""
