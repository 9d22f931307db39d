"""Stored procedures as Spark's, and the internal one that executes carried statements."""
