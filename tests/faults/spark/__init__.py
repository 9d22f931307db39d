"""The layer ``spark``: some processes, each with a Spark of its own, on one table, by SQL, DataFrames and streams."""
