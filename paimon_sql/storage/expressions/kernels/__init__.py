"""Vectorized kernels over Arrow arrays."""
