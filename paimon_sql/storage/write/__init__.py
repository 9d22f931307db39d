"""Writing: rows are distributed to buckets, written to files, and reported as commit messages."""
