"""Analyzer and optimizer rules for statements, one module each."""
