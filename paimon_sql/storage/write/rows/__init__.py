"""Preparation of rows for writing: precision, row kinds, blob references."""
