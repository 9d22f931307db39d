"""File layout of a table: paths, file names, partition directories (spec: File Layouts)."""
