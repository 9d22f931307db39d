"""Metrics for Prometheus and spans for OpenTelemetry, each an optional library."""
