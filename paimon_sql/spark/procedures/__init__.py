"""Stored procedures as Spark's, and the one that carries statements."""
