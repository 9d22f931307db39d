"""Postponed buckets: rows written before their buckets are known."""
