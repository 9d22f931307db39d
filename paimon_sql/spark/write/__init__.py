"""Writes: rows distributed by bucket, written by tasks, committed on the driver."""
