"""BinaryRow, with its lists, maps and vectors: the encoding of keys, partitions and statistics.

A row (spec: BinaryRow) is a header, padded to words of 8 bytes, of the row kind in its first byte and a null bit per
field; a slot of 8 bytes per field; and a variable part. In manifests it is preceded by the number of fields, big-endian
in 4 bytes. Here are single rows; `decode` and `encode` are for columns of many rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_field import Field, VariableField, atomic_field, check_parts, stretch
from paimon_sql.format.schema import types as t

PREFIX = struct.Struct(">i")
"""The prefix of a row in a manifest: the number of fields."""

BAD_VALUE = (struct.error, TypeError, ValueError, ArithmeticError, AttributeError, IndexError)
"""Errors of encoding a value of another type, and of decoding broken bytes."""


class RowCodec:
    """Encodes and decodes rows as in manifests: the number of fields, then the BinaryRow.

    A value is a bool, int, float, Decimal, str, bytes or None, and

    - DATE: a date; outside of the years 1 to 9999, the days since 1970-01-01 as an int;
    - TIMESTAMP and TIMESTAMP_LTZ (in UTC) up to precision 6: a naive datetime; outside of the years 1 to 9999, the
      microseconds since 1970-01-01 as an int. Above precision 6, always the nanoseconds as an int;
    - TIME: the milliseconds of the day as an int;
    - ARRAY and VECTOR: a list; ROW: a tuple; VARIANT: a tuple of value and metadata;
    - MAP and MULTISET: a dict; a list of pairs if the keys are lists or maps.

    ``encode`` also accepts the ints where ``decode`` returns a date or datetime, a datetime of any precision, and any
    iterable of pairs for a map.
    """

    def __init__(self, types: Sequence[t.DataType]) -> None:
        self.types = tuple(types)
        self._fields = [field_of(data_type) for data_type in self.types]

    def encode(self, values: Sequence[object]) -> bytes:
        """Serialize a row.

        Raises:
            InvalidInputError: a value does not fit its type, or the number of values is wrong.
        """
        if len(values) != len(self.types):
            raise InvalidInputError(f"A row of {len(self.types)} fields was given {len(values)} values.")
        return PREFIX.pack(len(values)) + pack_row(self.types, self._fields, values)

    def decode(self, data: bytes) -> tuple[object, ...]:
        """Deserialize a row.

        Raises:
            InvalidInputError: it has another number of fields, or is cut off.
        """
        if len(data) < PREFIX.size:
            raise InvalidInputError(f"{len(data)} bytes are too few for a serialized BinaryRow.")
        arity = PREFIX.unpack_from(data)[0]
        if arity != len(self.types):
            raise InvalidInputError(f"A BinaryRow of {arity} fields was read as one of {len(self.types)} fields.")
        return unpack_row(self.types, self._fields, data[PREFIX.size :])


def header_size(arity: int) -> int:
    """The size of a row's header: row kind and null bits, padded to words of 8 bytes."""
    return (arity + 8 + 63) // 64 * 8


def pack_row(types: Sequence[t.DataType], fields: Sequence[Field], values: Sequence[object]) -> bytes:
    """Encode values as a BinaryRow of the row kind +I."""
    header = header_size(len(fields))
    memory = bytearray(header + 8 * len(fields))
    for i, (field, value) in enumerate(zip(fields, values, strict=True)):
        if value is None:
            memory[(i + 8) // 8] |= 1 << i % 8
            slot, variable = field.write_null(len(memory))
        else:
            try:
                slot, variable = field.write(value, len(memory))
            except InvalidInputError:
                raise
            except BAD_VALUE:
                raise InvalidInputError(
                    f"{value!r} is not a value of type {types[i].sql()} (field {i} of a row)."
                ) from None
        memory[header + 8 * i : header + 8 * i + len(slot)] = slot
        memory += variable
    return bytes(memory)


def unpack_row(types: Sequence[t.DataType], fields: Sequence[Field], memory: bytes) -> tuple[object, ...]:
    """Decode the values of a BinaryRow of any row kind."""
    header = header_size(len(fields))
    if len(memory) < header + 8 * len(fields):
        raise InvalidInputError(f"{len(memory)} bytes are too few for a BinaryRow of {len(fields)} fields.")
    values: list[object] = []
    for i, field in enumerate(fields):
        if memory[(i + 8) // 8] >> i % 8 & 1:
            values.append(None)
            continue
        try:
            values.append(field.read(memory, header + 8 * i))
        except InvalidInputError:
            raise
        except BAD_VALUE as error:
            raise InvalidInputError(
                f"Field {i} of a BinaryRow is not a value of type {types[i].sql()}: {error}."
            ) from None
    return tuple(values)


def _unpack_inner(types: Sequence[t.DataType], fields: Sequence[Field], memory: bytes) -> tuple[object, ...]:
    header = header_size(len(fields))
    if len(memory) >= header + 8 * len(fields):
        present = (i for i in range(len(fields)) if not memory[(i + 8) // 8] >> i % 8 & 1)
        check_parts(memory, header, ((fields[i], header + 8 * i) for i in present))
    return unpack_row(types, fields, memory)


@lru_cache(maxsize=1024)
def field_of(data_type: t.DataType) -> Field:
    """The encoding of a type in rows and arrays."""
    if (atomic := atomic_field(data_type)) is not None:
        return atomic
    if isinstance(data_type, t.RowType):
        types = data_type.children()
        fields = [field_of(child) for child in types]
        return VariableField(partial(pack_row, types, fields), partial(_unpack_inner, types, fields), inline=False)
    if isinstance(data_type, t.ArrayType):
        element = field_of(data_type.element)
        return VariableField(partial(pack_array, element), partial(unpack_array, element), inline=False)
    if isinstance(data_type, t.VectorType):
        number = field_of(data_type.element)
        return VariableField(partial(pack_vector, number), partial(unpack_vector, number), inline=False)
    if isinstance(data_type, t.MapType | t.MultisetType):
        return _map_field(*t.entry_types(data_type))
    raise InvalidInputError(f"{data_type.sql()} cannot be stored in a BinaryRow.")


def _map_field(key: t.DataType, value: t.DataType) -> Field:
    """The encoding of maps: the size of the key array in 4 bytes, the key array and the value array."""
    key_field, value_field = field_of(key), field_of(value)
    hashable = not any(
        isinstance(inner, t.ArrayType | t.VectorType | t.MapType | t.MultisetType) for inner in t.walk(key)
    )

    def unpack(memory: bytes) -> dict[object, object] | list[tuple[object, object]]:
        size = _size(memory)
        keys = unpack_array(key_field, stretch(memory, 4, size))
        entries = list(zip(keys, unpack_array(value_field, memory[4 + size :]), strict=True))
        return dict(entries) if hashable else entries

    def pack(entries: dict[object, object] | Iterable[tuple[object, object]]) -> bytes:
        pairs = list(entries.items() if isinstance(entries, dict) else entries)
        keys = pack_array(key_field, [k for k, _ in pairs])
        return _INT.pack(len(keys)) + keys + pack_array(value_field, [v for _, v in pairs])

    return VariableField(pack, unpack, inline=False)


_INT = struct.Struct("<i")


def pack_array(field: Field, values: Sequence[object]) -> bytes:
    """Encode values as a BinaryArray; None is null.

    An array (spec: BinaryArray) is its number of elements in 4 bytes, null bits padded to words of 4 bytes, slots of
    the width of the element's type, and the variable part, aligned to 8 bytes.
    """
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


def unpack_array(field: Field, memory: bytes) -> list[object]:
    """Decode the values of a BinaryArray; None is null."""
    size = _size(memory)
    header = _header_size(size)
    if header + size * field.width > len(memory):
        raise InvalidInputError(f"{len(memory)} bytes are too few for a BinaryArray of {size} elements.")
    slots = (header + i * field.width for i in range(size) if not _is_null(memory, i))
    check_parts(memory, header, ((field, slot) for slot in slots))
    return [None if _is_null(memory, i) else field.read(memory, header + i * field.width) for i in range(size)]


def pack_vector(field: Field, values: Sequence[object]) -> bytes:
    """Encode numbers, none of them null, as a vector: the length, then the numbers."""
    if None in values:
        raise InvalidInputError("A vector holds a null: its elements must be numbers.")
    return _INT.pack(len(values)) + b"".join(field.write(value, 0)[0] for value in values)


def unpack_vector(field: Field, memory: bytes) -> list[object]:
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


def _one_nan(value: object) -> object:
    # Arrays have one representation of NaN, so that equal arrays have equal bytes; rows keep the bits.
    return float("nan") if isinstance(value, float) and value != value else value
