"""Paths of data files."""
