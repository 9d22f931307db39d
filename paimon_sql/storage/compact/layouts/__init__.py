"""Compaction by table layout: append, clustered, data evolution, primary key with postponed buckets, chain."""
