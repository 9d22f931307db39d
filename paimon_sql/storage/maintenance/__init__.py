"""Maintenance of a table: tags, partitions, snapshots, orphan files."""
