"""What Spark pushes into a scan beyond predicates and columns."""
