"""Views and functions of a catalog, as Spark's."""
