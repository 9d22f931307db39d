"""Spark's Thrift server with our catalogs: SQL and the metadata calls of JDBC and ODBC clients."""
