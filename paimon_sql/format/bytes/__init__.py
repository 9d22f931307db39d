"""Bytes: bounded reads, compression, varints, bitmaps of 64 bits."""
