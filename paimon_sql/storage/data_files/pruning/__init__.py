"""Data skipping: data files left out by statistics, buckets and file indexes."""
