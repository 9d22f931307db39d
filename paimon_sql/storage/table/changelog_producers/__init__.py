"""Changelog producers, one module each (Paimon: Changelog Producer)."""
