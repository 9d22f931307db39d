"""Usage of files: which are in use, and which may be deleted."""
