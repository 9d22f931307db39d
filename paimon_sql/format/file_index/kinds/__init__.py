"""Kinds of file indexes, one module each."""
