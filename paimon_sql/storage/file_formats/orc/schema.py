"""Layout of columns in ORC files: kinds, lengths and field ids, as of Paimon's Java writer (spec: ORC)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import element_id, key_id
from paimon_sql.storage.file_formats.orc import encodings, tail
from paimon_sql.storage.file_formats.orc.encodings import Message
from paimon_sql.storage.file_formats.orc.tail import Kind

_ID = b"paimon.id"
_KINDS: dict[type[t.DataType], Kind] = {
    t.BooleanType: Kind.BOOLEAN,
    t.TinyIntType: Kind.BYTE,
    t.SmallIntType: Kind.SHORT,
    **dict.fromkeys((t.IntType, t.TimeType), Kind.INT),
    t.BigIntType: Kind.LONG,
    t.FloatType: Kind.FLOAT,
    t.DoubleType: Kind.DOUBLE,
    t.CharType: Kind.CHAR,
    t.VarCharType: Kind.VARCHAR,
    **dict.fromkeys((*t.BYTES, t.BlobType), Kind.BINARY),
    t.DateType: Kind.DATE,
    t.DecimalType: Kind.DECIMAL,
    t.TimestampType: Kind.TIMESTAMP,
    t.LocalZonedTimestampType: Kind.TIMESTAMP_INSTANT,
    t.ArrayType: Kind.LIST,
    **dict.fromkeys((t.MapType, t.MultisetType), Kind.MAP),
    t.RowType: Kind.STRUCT,
}


def check_orc_fields(fields: Sequence[t.DataField]) -> None:
    """Raise `UnsupportedError` with the first column that ORC does not support."""
    for field in fields:
        for inner in t.walk(field.type):
            if type(inner) not in _KINDS:
                raise UnsupportedError(
                    f"Column '{field.name}': ORC files cannot hold {inner.sql()}.",
                    remedy="Set the table option 'file.format' = 'parquet'.",
                )


def orc_types(fields: Sequence[t.DataField]) -> list[Message]:
    """Return the types of a file with these columns, parents before children."""
    types: list[Message] = []
    _append(types, t.RowType(False, tuple(fields)), 0, 0, None)
    return types


def _append(types: list[Message], data_type: t.DataType, field_id: int, depth: int, own_id: int | None) -> None:
    """Append a type and its children; ``field_id`` is the column's, ``own_id`` that of this part."""
    own, below, is_row = len(types), depth + 1, isinstance(data_type, t.RowType)
    types.append(Message())
    parts: list[tuple[t.DataType, int]] = []
    if isinstance(data_type, t.RowType):
        parts = [(f.type, f.id) for f in data_type.fields]
    elif isinstance(data_type, t.ArrayType):
        parts = [(data_type.element, element_id(field_id, below))]
    elif isinstance(data_type, t.MapType | t.MultisetType):
        key, value = t.entry_types(data_type)
        parts = [(key, key_id(field_id, below)), (value, element_id(field_id, below))]
    children = []
    for part, part_id in parts:
        children.append(len(types))
        column = (part_id, 0) if is_row else (field_id, below)
        _append(types, part, *column, part_id)
    types[own] = _with_details(_message(_kind(data_type), children, own_id), data_type)


def _kind(data_type: t.DataType) -> Kind:
    if isinstance(data_type, t.VarCharType) and data_type.length == t.MAX_LENGTH:
        return Kind.STRING
    return _KINDS[type(data_type)]


def _message(kind: Kind, children: Sequence[int], own_id: int | None) -> Message:
    message = Message().with_number(tail.KIND, kind)
    if children:
        message = message.with_texts(tail.SUBTYPES, [encodings.packed(children)])
    if own_id is not None:
        pair = Message().with_texts(1, [_ID]).with_texts(2, [str(own_id).encode()])
        message = message.with_texts(tail.ATTRIBUTES, [encodings.encode(pair)])
    return message


def _with_details(message: Message, data_type: t.DataType) -> Message:
    if isinstance(data_type, t.RowType):
        return message.with_texts(tail.NAMES, [f.name.encode() for f in data_type.fields])
    if isinstance(data_type, t.DecimalType):
        return message.with_number(tail.PRECISION, data_type.precision).with_number(tail.SCALE, data_type.scale)
    if isinstance(data_type, t.CharType) or (isinstance(data_type, t.VarCharType) and data_type.length < t.MAX_LENGTH):
        return message.with_number(tail.MAXIMUM_LENGTH, data_type.length)
    return message


def orc_arrow_schema(fields: Sequence[t.DataField]) -> pa.Schema:
    """Return the Arrow schema for which Arrow's writer creates the same kinds, without lengths and ids."""
    return pa.schema([pa.field(f.name, _arrow(f.type)) for f in fields])


def _arrow(data_type: t.DataType) -> pa.DataType:
    match data_type:
        case t.TimeType():
            return pa.int32()
        case t.ArrayType():
            return pa.list_(_arrow(data_type.element))
        case t.MapType() | t.MultisetType():
            return pa.map_(*map(_arrow, t.entry_types(data_type)))
        case t.RowType():
            return pa.struct([pa.field(f.name, _arrow(f.type)) for f in data_type.fields])
    return arrow_type(data_type)
