"""The commit protocol: changes become exactly one snapshot, despite concurrent commits."""
