"""Reading of splits: data files as batches under the current schema, merged if needed."""
