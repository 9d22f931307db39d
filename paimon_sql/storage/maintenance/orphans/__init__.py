"""Removal of orphan files."""
