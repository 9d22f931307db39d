"""Kinds of global indexes, one module each."""
