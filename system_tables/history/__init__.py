"""System tables about a table's history: snapshots, schemas, options, refs."""
