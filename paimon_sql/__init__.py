"""Apache Paimon's lakehouse tables, driven through SQL, on a stock PySpark."""

__version__ = "0.1.0"
