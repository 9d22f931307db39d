"""Changes of single rows: UPDATE, DELETE and MERGE as new files, deletion vectors and rewritten files."""
