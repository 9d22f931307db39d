"""Spark's Connect server with Paimon catalogs."""
