"""Which files are still in use, and which may be deleted."""
