"""Materialized tables: what defines them, what they were refreshed from, and what has changed since."""
