"""Rows before they are written: precision, row kinds, blob references."""
