"""Clustering: rows sorted by columns, in lexicographic, z-order or Hilbert order (Paimon: Clustering)."""
