"""Rules about data files, indexes and paths."""
