"""The Python API without Spark: catalogs and tables, read and written as Arrow data in this process."""
