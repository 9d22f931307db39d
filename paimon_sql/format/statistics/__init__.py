"""Statistics of columns, of files and of tables."""
