"""Time travel: the snapshot or the change range of a read."""
