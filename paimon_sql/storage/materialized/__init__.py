"""Materialized tables: definition, refresh state, and changes since."""
