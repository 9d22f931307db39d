"""Compaction by table layout: append, clustered, data evolution, postponed buckets."""
