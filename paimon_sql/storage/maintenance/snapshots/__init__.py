"""Snapshot expiration, rollback, retained size."""
