"""Format tables: read and written by Spark's own file sources."""
