"""Vectorized hash of BinaryRows, for buckets and hash indexes.

The hash (spec: BinaryRow, "hashCode") is 32-bit Murmur3 with seed 42 over the row's half words, without the preceding
number of fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.bytes.memory import Longs, Words
from paimon_sql.format.rows.binary_row import header_size
from paimon_sql.format.rows.encode import Slots, column_slots, header_words, pack_rows
from paimon_sql.format.schema import types as t

Hashes: TypeAlias = npt.NDArray[np.uint32]

_SEED = np.uint32(42)
_BLOCK = 1 << 15
"""Rows hashed together: few enough that their words stay in the CPU cache."""


def row_hash(columns: pa.RecordBatch | Sequence[pa.Array], types: Sequence[t.DataType]) -> npt.NDArray[np.int32]:
    """The hash of each row of the columns, as a BinaryRow.

    Args:
        columns: arrays of one length, of the types of ``arrow_type`` or castable to them.
        types: the fields' types; at least one.
    """
    slots = column_slots(columns, types)
    if any(column.sizes is not None for column in slots):
        hashes = _hash_stretches(*pack_rows(slots, len(types)))
    else:
        hashes = _hash_slots(slots)
    return hashes.view(np.int32)


def _hash_slots(slots: Sequence[Slots]) -> Hashes:
    """The hashes of rows without variable parts: words are mixed column by column, in blocks of rows."""
    arity = len(slots)
    count = len(slots[0].words)
    words = [*header_words(slots, arity), *(column.words for column in slots)]
    size = header_size(arity) + 8 * arity
    hashes = np.empty(count, np.uint32)
    for first in range(0, count, _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        mixed = np.full(block.stop - first, _SEED, np.uint32)
        for column in words:
            if column is None:
                for _ in range(2):
                    _mix(mixed, None)
            else:
                halves = column[block].view(np.uint32)
                _mix(mixed, _scramble(halves[0::2]))
                _mix(mixed, _scramble(halves[1::2]))
        hashes[block] = _finish(mixed, np.uint32(size))
    return hashes


def _hash_stretches(body: Words, sizes: Longs) -> Hashes:
    """The hashes of concatenated rows of any size; ``sizes`` are in bytes."""
    scrambled = _scramble(body.view(np.uint32))
    halves = sizes // 4
    max_halves = int(halves.max(initial=0))
    # Longest rows first, so that the rows with remaining words are always a prefix.
    shortness = max_halves - halves
    order = np.argsort(shortness.astype(np.uint16) if max_halves < 1 << 16 else shortness, kind="stable")
    firsts = (np.cumsum(halves) - halves)[order]
    descending = halves[order]
    ascending = descending[::-1]
    mixed = np.full(len(sizes), _SEED, np.uint32)
    for step in range(max_halves):
        active = len(sizes) - int(np.searchsorted(ascending, step, side="right"))
        if active <= _FEW:
            for row in range(active):
                first = int(firsts[row])
                rest = scrambled[first + step : first + int(descending[row])]
                mixed[row] = _mix_one(int(mixed[row]), rest.tolist())
            break
        _mix(mixed[:active], scrambled[firsts[:active] + step])
    hashes = np.empty(len(sizes), np.uint32)
    hashes[order] = _finish(mixed, descending.astype(np.uint32) * np.uint32(4))
    return hashes


_FEW = 16
"""Up to so many long rows are faster mixed one by one than together."""


def _scramble(words: npt.NDArray[np.uint32]) -> Hashes:
    """Transform words before mixing; independent of previous words."""
    scrambled = words * np.uint32(0xCC9E2D51)
    scrambled = (scrambled << np.uint32(15)) | (scrambled >> np.uint32(17))
    scrambled *= np.uint32(0x1B873593)
    return scrambled


def _mix(mixed: Hashes, scrambled: Hashes | None) -> None:
    """Mix a scrambled word into each hash, in place; None is a word of zeros."""
    if scrambled is not None:
        mixed ^= scrambled
    high = mixed >> np.uint32(19)
    mixed <<= np.uint32(13)
    mixed |= high
    mixed *= np.uint32(5)
    mixed += np.uint32(0xE6546B64)


def _mix_one(mixed: int, scrambled: list[int]) -> int:
    for word in scrambled:
        mixed ^= word
        mixed = ((mixed << 13 | mixed >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    return mixed


def _finish(mixed: Hashes, size: npt.NDArray[np.uint32] | np.uint32) -> Hashes:
    """Finalize hashes; ``size`` is that of the rows in bytes."""
    mixed = mixed ^ size
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed
