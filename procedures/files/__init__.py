"""Procedures that remove orphan files and repair metadata."""
