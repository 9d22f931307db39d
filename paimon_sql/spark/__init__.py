"""The bridge to Spark: sessions, parser, catalogs, tables, scans and writes as Python objects that the JVM calls."""
