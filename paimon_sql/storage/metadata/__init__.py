"""Metadata files of a table: snapshots, schemas, manifests, refs."""
