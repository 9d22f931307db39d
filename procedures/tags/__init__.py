"""Procedures on tags."""
