"""BinaryArray, BinaryMap and BinaryVector: lists, maps and vectors in a BinaryRow.

An array (spec: BinaryArray) is its number of elements in 4 bytes, null bits padded to words of 4 bytes, slots of the
width of the element's type, and the variable part, aligned to 8 bytes. A map is the size of its key array in 4 bytes,
the key array and the value array; a vector is its length and its elements.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_field import Field, check_parts, stretch

_INT = struct.Struct("<i")


def pack_array(field: Field, values: Sequence[Any]) -> bytes:
    """Encode values as a BinaryArray; None is null."""
    header = _header_size(len(values))
    fixed = header + field.width * len(values)
    fixed += -fixed % 8
    memory = bytearray(fixed)
    _INT.pack_into(memory, 0, len(values))
    for i, value in enumerate(values):
        if value is None:
            memory[4 + i // 8] |= 1 << i % 8
            continue
        slot, variable = field.write(_one_nan(value), len(memory))
        memory[header + i * field.width : header + (i + 1) * field.width] = slot
        memory += variable
    return bytes(memory)


def unpack_array(field: Field, memory: bytes) -> list[Any]:
    """Decode the values of a BinaryArray; None is null."""
    size = _size(memory)
    header = _header_size(size)
    if header + size * field.width > len(memory):
        raise InvalidInputError(f"{len(memory)} bytes are too few for a BinaryArray of {size} elements.")
    slots = (header + i * field.width for i in range(size) if not _is_null(memory, i))
    check_parts(memory, header, ((field, slot) for slot in slots))
    return [None if _is_null(memory, i) else field.read(memory, header + i * field.width) for i in range(size)]


def pack_map(key: Field, value: Field, entries: Iterable[tuple[Any, Any]]) -> bytes:
    """Encode entries as a BinaryMap."""
    entries = list(entries)
    keys = pack_array(key, [k for k, _ in entries])
    return _INT.pack(len(keys)) + keys + pack_array(value, [v for _, v in entries])


def unpack_map(key: Field, value: Field, memory: bytes) -> list[tuple[Any, Any]]:
    """Decode the entries of a BinaryMap."""
    size = _size(memory)
    keys = unpack_array(key, stretch(memory, 4, size))
    return list(zip(keys, unpack_array(value, memory[4 + size :]), strict=True))


def pack_vector(field: Field, values: Sequence[Any]) -> bytes:
    """Encode numbers, none of them null, as a vector: the length, then the numbers."""
    if None in values:
        raise InvalidInputError("A vector holds a null: its elements must be numbers.")
    return _INT.pack(len(values)) + b"".join(field.write(value, 0)[0] for value in values)


def unpack_vector(field: Field, memory: bytes) -> list[Any]:
    """Decode the numbers of a vector."""
    size = _size(memory)
    stretch(memory, 4, size * field.width)
    return [field.read(memory, 4 + i * field.width) for i in range(size)]


def _size(memory: bytes) -> int:
    """The first number of an array, map or vector."""
    size: int = _INT.unpack_from(memory)[0] if len(memory) >= _INT.size else -1
    if size < 0:
        raise InvalidInputError("An array, map or vector of a BinaryRow has no size: the row is corrupt.")
    return size


def _is_null(memory: bytes, i: int) -> bool:
    return bool(memory[4 + i // 8] >> i % 8 & 1)


def _header_size(size: int) -> int:
    return 4 + (size + 31) // 32 * 4


def _one_nan(value: Any) -> Any:
    # Arrays have one representation of NaN, so that equal arrays have equal bytes; rows keep the bits.
    return float("nan") if isinstance(value, float) and value != value else value
