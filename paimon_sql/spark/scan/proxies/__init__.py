"""Proxies of Spark's ``Scan``, one module per reader."""
