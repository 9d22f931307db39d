"""Catalyst's expressions as predicates of the storage core."""
