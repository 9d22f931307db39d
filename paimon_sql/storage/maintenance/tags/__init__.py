"""Tags: management, automatic creation, expiration."""
