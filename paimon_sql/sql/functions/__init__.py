"""Function calls and table names inside statements."""
