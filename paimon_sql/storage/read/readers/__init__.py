"""Readers of splits, one module per kind."""
