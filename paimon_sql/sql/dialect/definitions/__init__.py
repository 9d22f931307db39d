"""Column definitions and data types."""
