"""Scans: push-down, choice of the reader (driver, JVM, Python workers), and Spark's scan objects."""
