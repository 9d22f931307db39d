"""BinaryRow: the encoding of keys, partitions and statistics in manifests, and the input of bucket hashes.

A row (spec: BinaryRow) is a header, padded to words of 8 bytes, of the row kind in its first byte and a null bit per
field; a slot of 8 bytes per field; and a variable part. In manifests it is preceded by the number of fields, big-endian
in 4 bytes. Here are single rows; `decode` and `encode` are for columns of many rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_array import (
    pack_array,
    pack_map,
    pack_vector,
    unpack_array,
    unpack_map,
    unpack_vector,
)
from paimon_sql.format.rows.binary_field import Field, VariableField, atomic_field, check_parts
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

    def encode(self, values: Sequence[Any]) -> bytes:
        """Serialize a row.

        Raises:
            InvalidInputError: a value does not fit its type, or the number of values is wrong.
        """
        if len(values) != len(self.types):
            raise InvalidInputError(f"A row of {len(self.types)} fields was given {len(values)} values.")
        return PREFIX.pack(len(values)) + pack_row(self.types, self._fields, values)

    def decode(self, data: bytes) -> tuple[Any, ...]:
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


def pack_row(types: Sequence[t.DataType], fields: Sequence[Field], values: Sequence[Any]) -> bytes:
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
                    f"{value!r} is no value of type {types[i].sql()} (field {i} of a row)."
                ) from None
        memory[header + 8 * i : header + 8 * i + len(slot)] = slot
        memory += variable
    return bytes(memory)


def unpack_row(types: Sequence[t.DataType], fields: Sequence[Field], memory: bytes) -> tuple[Any, ...]:
    """Decode the values of a BinaryRow of any row kind."""
    header = header_size(len(fields))
    if len(memory) < header + 8 * len(fields):
        raise InvalidInputError(f"{len(memory)} bytes are too few for a BinaryRow of {len(fields)} fields.")
    values: list[Any] = []
    for i, field in enumerate(fields):
        if memory[(i + 8) // 8] >> i % 8 & 1:
            values.append(None)
            continue
        try:
            values.append(field.read(memory, header + 8 * i))
        except InvalidInputError:
            raise
        except BAD_VALUE as error:
            raise InvalidInputError(f"Field {i} of a BinaryRow holds no {types[i].sql()}: {error}.") from None
    return tuple(values)


def _unpack_inner(types: Sequence[t.DataType], fields: Sequence[Field], memory: bytes) -> tuple[Any, ...]:
    header = header_size(len(fields))
    if len(memory) >= header + 8 * len(fields):
        present = (i for i in range(len(fields)) if not memory[(i + 8) // 8] >> i % 8 & 1)
        check_parts(memory, header, ((fields[i], header + 8 * i) for i in present))
    return unpack_row(types, fields, memory)


@cache
def field_of(data_type: t.DataType) -> Field:
    """The encoding of a type in rows and arrays."""
    if (atomic := atomic_field(data_type)) is not None:
        return atomic
    if isinstance(data_type, t.RowType):
        types = data_type.children()
        fields = [field_of(child) for child in types]
        return VariableField(
            lambda values: pack_row(types, fields, values),
            lambda memory: _unpack_inner(types, fields, memory),
            inline=False,
        )
    if isinstance(data_type, t.ArrayType):
        element = field_of(data_type.element)
        return VariableField(
            lambda values: pack_array(element, values), lambda memory: unpack_array(element, memory), inline=False
        )
    if isinstance(data_type, t.VectorType):
        number = field_of(data_type.element)
        return VariableField(
            lambda values: pack_vector(number, values), lambda memory: unpack_vector(number, memory), inline=False
        )
    if isinstance(data_type, t.MapType):
        return _map_field(data_type.key, data_type.value)
    if isinstance(data_type, t.MultisetType):
        return _map_field(data_type.element, t.IntType())
    raise InvalidInputError(f"{data_type.sql()} has no form inside a BinaryRow.")


def _map_field(key: t.DataType, value: t.DataType) -> Field:
    key_field, value_field = field_of(key), field_of(value)
    hashable = not any(
        isinstance(inner, t.ArrayType | t.VectorType | t.MapType | t.MultisetType) for inner in t.walk(key)
    )

    def unpack(memory: bytes) -> dict[Any, Any] | list[tuple[Any, Any]]:
        entries = unpack_map(key_field, value_field, memory)
        return dict(entries) if hashable else entries

    def pack(entries: dict[Any, Any] | Iterable[tuple[Any, Any]]) -> bytes:
        return pack_map(key_field, value_field, entries.items() if isinstance(entries, dict) else entries)

    return VariableField(pack, unpack, inline=False)
