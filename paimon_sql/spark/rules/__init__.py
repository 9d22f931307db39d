"""Rules added to Spark's analyzer and optimizer (decision 9)."""
