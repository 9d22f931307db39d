"""Postponed buckets: their number, and the distribution of their rows to real buckets."""
