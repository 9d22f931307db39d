"""Clustering orders, one module each: lexicographic, z-order, Hilbert."""
