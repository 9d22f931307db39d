"""How tasks run: executors, threads, progress, metrics."""
