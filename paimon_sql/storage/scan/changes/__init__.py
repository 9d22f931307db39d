"""Scans of changes between snapshots."""
