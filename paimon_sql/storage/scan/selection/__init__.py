"""Selection of files and rows by file indexes and by order."""
