"""SQL text: edits, names, secrets, wildcards."""
