"""Execution: Spark tasks, small work on the driver, and carried statements."""
