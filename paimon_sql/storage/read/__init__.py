"""Reading splits: data files as batches of today's columns, merged where they must be."""
