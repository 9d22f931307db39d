"""File indexes: indexes of one data file, so that reads skip the file or most of its rows (spec: File Index)."""
