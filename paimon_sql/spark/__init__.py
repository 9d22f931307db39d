"""The integration with Spark: sessions, parser, catalogs, tables, scans and writes, as proxies that the JVM calls."""
