"""Encoding of Iceberg's metadata: table metadata, manifest lists and manifests (Iceberg's table specification)."""
