"""Column definitions and data types of the dialect."""
