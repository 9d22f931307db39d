"""Time travel: which snapshot a read sees, and ranges of changes."""
