"""Global indexes: the rows of a table with a value, by row id (spec: Global Index)."""
