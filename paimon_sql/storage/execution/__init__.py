"""Execution of tasks: executors, threads, progress, metrics."""
