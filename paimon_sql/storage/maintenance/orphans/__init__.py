"""Removal of orphan files (Paimon: Remove Orphan Files)."""
