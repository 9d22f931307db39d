"""Options of sessions, reads and writes as Spark hands them over."""
