"""Readers of splits, one module a kind."""
