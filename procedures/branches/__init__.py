"""Procedures on branches."""
