"""Calls of a catalog's functions inside statements."""
