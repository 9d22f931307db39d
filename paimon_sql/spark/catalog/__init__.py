"""Catalogs and the data source ``paimon`` as Spark's connector API has them."""
