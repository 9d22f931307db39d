"""The ORC file format (spec: Apache ORC v1)."""
