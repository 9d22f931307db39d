"""Bucket modes: how the rows of a table find their buckets, one small class a mode."""
