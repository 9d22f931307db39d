"""Row-level strategies: copy-on-write and deletion vectors, columns, upserts, dropping of keys."""
