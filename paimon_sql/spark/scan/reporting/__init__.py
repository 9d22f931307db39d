"""What a scan reports to Spark: statistics, metrics, partitioning, split sizes."""
