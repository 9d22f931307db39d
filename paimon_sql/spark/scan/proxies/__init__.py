"""Scans as Spark's connector API has them, one module for each way to read."""
