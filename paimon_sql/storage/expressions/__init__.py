"""Predicates and aggregate functions over Arrow columns."""
