"""Merge engines, one module each (Paimon: Merge Engines)."""
