"""Grammar of declared statements."""
