"""Reports of scans to Spark: statistics, row sizes, partitioning, split sizes."""
