"""Vectorised kernels over Arrow arrays."""
