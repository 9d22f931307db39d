"""Files and rows selected by file indexes and orders."""
