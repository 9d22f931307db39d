"""Procedures on indexes."""
