"""Primitives of encodings: bounded reads, decompression, varints, decimals, hashes, bitmaps."""
