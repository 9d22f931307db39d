"""Format tables, which Spark's own file sources read and write."""
