"""Options of sessions, reads and writes that Spark passes."""
