"""Compaction: which files of a bucket are merged, the merging, and what the commit is told."""
