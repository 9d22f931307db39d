"""What every implementation of Spark's connector interfaces shares."""
