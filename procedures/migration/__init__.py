"""Procedures that copy and migrate tables."""
