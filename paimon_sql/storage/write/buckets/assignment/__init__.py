"""Assignment of keys to buckets, and the routers of rows."""
