"""Contents of index files: deletion vectors and hash indexes (spec: Table Index)."""
