"""Analyzer and optimizer rules about statements, one module each."""
