"""Procedures that refresh materialized tables and object tables."""
