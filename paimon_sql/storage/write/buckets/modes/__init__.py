"""Bucket modes, one module each."""
