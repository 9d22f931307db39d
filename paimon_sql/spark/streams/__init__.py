"""Structured Streaming: tables as sources and as sinks of micro-batches."""
