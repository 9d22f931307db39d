"""Execution: Spark tasks, the memory of their workers, small work on the driver, and carried statements."""
