"""Spark's Thrift server with Paimon catalogs: SQL, and the metadata calls of JDBC and ODBC clients."""
