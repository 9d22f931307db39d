"""Live data files of a snapshot: deletion vectors, sections and levels, file groups, data skipping."""
