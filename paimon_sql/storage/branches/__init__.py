"""Branches and chain tables."""
