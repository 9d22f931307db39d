"""Aggregate functions, one module per family (Paimon: Aggregation)."""
