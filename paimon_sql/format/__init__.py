"""The table format: bytes in and out, and nothing else."""
