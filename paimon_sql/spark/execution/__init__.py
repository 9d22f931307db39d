"""Where work runs: Spark tasks, few rows on the driver, and carried statements."""
