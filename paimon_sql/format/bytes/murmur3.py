"""MurmurHash3 of 32 bits, of many byte strings of whole words at once, and of a single one."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.uint32]


def hash_bytes(data: bytes) -> int:
    """The hash of bytes with seed 0."""
    aligned = len(data) & ~3
    rest = scramble(np.array([int.from_bytes(data[aligned:], "little")], np.uint32))
    mixed = mix_one(0, scramble(np.frombuffer(data[:aligned], "<u4")).tolist())
    return int(finish(rest ^ np.uint32(mixed), np.uint32(len(data)))[0])


def scramble(words: npt.NDArray[np.uint32]) -> Hashes:
    """Transform words before mixing; independent of previous words."""
    scrambled = words * np.uint32(0xCC9E2D51)
    scrambled = (scrambled << np.uint32(15)) | (scrambled >> np.uint32(17))
    scrambled *= np.uint32(0x1B873593)
    return scrambled


def mix(mixed: Hashes, scrambled: Hashes | None) -> None:
    """Mix a scrambled word into each hash, in place; None is a word of zeros."""
    if scrambled is not None:
        mixed ^= scrambled
    high = mixed >> np.uint32(19)
    mixed <<= np.uint32(13)
    mixed |= high
    mixed *= np.uint32(5)
    mixed += np.uint32(0xE6546B64)


def mix_one(mixed: int, scrambled: list[int]) -> int:
    """Mix scrambled words into one hash."""
    for word in scrambled:
        mixed ^= word
        mixed = ((mixed << 13 | mixed >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    return mixed


def finish(mixed: Hashes, size: npt.NDArray[np.uint32] | np.uint32) -> Hashes:
    """Finalize hashes; ``size`` is that of the rows in bytes."""
    mixed = mixed ^ size
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed
