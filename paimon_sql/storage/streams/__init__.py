"""Streaming reads: the existing rows first, then the changes of each snapshot, split by split."""
