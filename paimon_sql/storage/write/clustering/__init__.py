"""Sort orders of rows: lexicographic, z-order, Hilbert curve."""
