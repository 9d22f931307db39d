"""Tables of Spark's connector API (Spark: ``Table``): one module per kind of table."""
