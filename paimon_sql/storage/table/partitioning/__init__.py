"""Partitioning: rows to partitions and buckets, and the time of a partition."""
