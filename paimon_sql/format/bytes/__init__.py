"""Primitives of encodings: bounded reads, decompression, varints, 64-bit bitmaps."""
