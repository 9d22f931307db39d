"""The merge engines, one module each."""
