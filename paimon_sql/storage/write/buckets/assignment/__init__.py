"""Assignment of keys to buckets."""
