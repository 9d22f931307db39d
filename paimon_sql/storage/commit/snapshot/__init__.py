"""Manifests and snapshot of a commit."""
