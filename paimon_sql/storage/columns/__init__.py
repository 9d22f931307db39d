"""Column semantics: defaults, literals, blobs, vectors, options that name columns, schema evolution."""
