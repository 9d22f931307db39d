"""Compaction: plans of the files to merge, the tasks that merge them, and their commit messages."""
