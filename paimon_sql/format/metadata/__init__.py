"""Snapshots, manifest lists, manifests and index manifests (spec: Snapshot, Manifest)."""
