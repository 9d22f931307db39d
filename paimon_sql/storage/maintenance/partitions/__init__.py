"""Partition expiration, and marking partitions as done."""
