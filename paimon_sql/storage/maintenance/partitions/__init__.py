"""Partition expiration, and partitions marked as done."""
