"""Changes of schemas, and their validation."""
