"""Writing: rows to buckets, buckets to files, files to commit messages."""
