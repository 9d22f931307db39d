"""Changes of columns, one module per kind."""
