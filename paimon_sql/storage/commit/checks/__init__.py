"""Conflict checks of a commit, one module each."""
