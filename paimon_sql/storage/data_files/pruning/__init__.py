"""Data skipping by statistics, buckets and file indexes."""
