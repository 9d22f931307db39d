"""The blob file format (spec: Blob File)."""
