"""Rows to partitions and buckets, and the time that a partition stands for."""
