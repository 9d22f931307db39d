"""Scans: what Spark pushes down, and who reads (driver, JVM, Python workers)."""
