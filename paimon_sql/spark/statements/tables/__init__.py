"""Carried statements about tables, columns and partitions."""
