"""File indexes: what a data file's rows hold of a column, so that reads can pass over the file or most of its rows."""
