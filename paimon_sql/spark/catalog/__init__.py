"""Catalogs and the data source ``paimon`` of Spark's connector API."""
