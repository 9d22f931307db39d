"""Base classes of the implementations of Spark's connector interfaces."""
