"""Changes of columns, one module a kind."""
