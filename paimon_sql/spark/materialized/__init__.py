"""Materialized tables in a session: analysis of their queries, and refreshes."""
