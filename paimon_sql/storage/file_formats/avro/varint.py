"""Avro's whole numbers: zigzag, then seven bits a byte, the least first (spec: Apache Avro, "Binary Encoding")."""

from __future__ import annotations


def zigzag(value: int) -> bytes:
    """The bytes of a number that is not negative."""
    rest, coded = value << 1, bytearray()
    while rest > 0x7F:
        coded.append(rest & 0x7F | 0x80)
        rest >>= 7
    coded.append(rest)
    return bytes(coded)
