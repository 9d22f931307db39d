"""Tables as Spark's connector API has them, one module a kind."""
