"""Iceberg's metadata as bytes: table metadata, manifest lists and manifests (Iceberg's table specification)."""
