"""Aggregate functions of merge engines, vectorized over all keys of a window."""
