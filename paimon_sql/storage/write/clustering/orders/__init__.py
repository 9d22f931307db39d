"""The orders of clustering, one module each: lexicographic, z-order, Hilbert curve."""
