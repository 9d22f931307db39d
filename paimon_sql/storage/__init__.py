"""The storage core: tables, scans, merges, writers, commits and maintenance over files, without Spark."""
