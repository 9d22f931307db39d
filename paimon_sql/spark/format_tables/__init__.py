"""Format tables in Spark: read and written by Spark's own sources of files, over folders that are chosen here."""
