"""Procedures on views and functions."""
