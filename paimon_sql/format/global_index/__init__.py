"""Global indexes: which rows of a table hold a value, by row id (spec: Global Index)."""
