"""Columns beyond name and type: defaults, literals, blobs, vectors, options that name columns, schema evolution."""
