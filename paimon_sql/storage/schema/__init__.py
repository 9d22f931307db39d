"""Schemas: how they change, and what is valid."""
