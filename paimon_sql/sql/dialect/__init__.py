"""Paimon's dialect of sqlglot, as a difference to sqlglot's Spark."""
