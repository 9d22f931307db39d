"""Conversion of column types to Hive's, and back.

Hive has no TIME, no lengths of binary strings and no NOT NULL; the table's own schema is authoritative.
"""

from __future__ import annotations

from pymetastore import htypes as h

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t

LOCAL_TIMESTAMP = "timestamp with local time zone"
"""Hive's name of TIMESTAMP WITH LOCAL TIME ZONE, since version 3."""
_MAX_CHAR, _MAX_VARCHAR = 255, 65535


_TYPES: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "tinyint": t.TinyIntType(),
    "smallint": t.SmallIntType(),
    "int": t.IntType(),
    "bigint": t.BigIntType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "string": t.string_type(),
    "binary": t.bytes_type(),
    "date": t.DateType(),
    "timestamp": t.TimestampType(),
    LOCAL_TIMESTAMP: t.LocalZonedTimestampType(),
}
"""The types without parameters, by Hive's names."""
_NAMES: dict[type[t.DataType], str] = {
    **{type(plain): name for name, plain in _TYPES.items()},
    **dict.fromkeys((t.BinaryType, t.BlobType), "binary"),
    t.TimeType: "string",
    t.VariantType: "struct<value:binary,metadata:binary>",
}
_PRIMITIVES = {h.TypeParser(name).parse_type().primitive_type: plain for name, plain in _TYPES.items()}


def hive_type(data_type: t.DataType) -> str:
    """The name of the Hive type for a type (Paimon: `HiveTypeUtils`).

    Raises:
        UnsupportedError: Hive has none.
    """
    match data_type:
        case t.DecimalType():
            return f"decimal({data_type.precision},{data_type.scale})"
        case t.CharType():
            return f"char({data_type.length})" if data_type.length <= _MAX_CHAR else "string"
        case t.VarCharType():
            return f"varchar({data_type.length})" if data_type.length <= _MAX_VARCHAR else "string"
        case t.ArrayType() | t.VectorType():
            return f"array<{hive_type(data_type.element)}>"
        case t.MultisetType():
            return f"map<{hive_type(data_type.element)},int>"
        case t.MapType():
            return f"map<{hive_type(data_type.key)},{hive_type(data_type.value)}>"
        case t.RowType():
            return f"struct<{','.join(f'{f.name}:{hive_type(f.type)}' for f in data_type.fields)}>"
    if type(data_type) not in _NAMES:
        raise UnsupportedError(f"Hive's metastore has no type for {data_type}.")
    return _NAMES[type(data_type)]


def paimon_type(name: str) -> t.DataType:
    """The type for a Hive type.

    Raises:
        UnsupportedError: there is none, or the name cannot be parsed.
    """
    try:
        return _paimon_type(h.TypeParser(name).parse_type())
    except (ValueError, IndexError, AttributeError):
        raise UnsupportedError(f"Hive's type {name} is not supported.") from None


def _paimon_type(found: h.HType) -> t.DataType:
    if isinstance(found, h.HPrimitiveType) and found.primitive_type in _PRIMITIVES:
        return _PRIMITIVES[found.primitive_type]
    if isinstance(found, h.HDecimalType):
        return t.DecimalType(precision=found.precision, scale=found.scale)
    if isinstance(found, h.HCharType):
        return t.CharType(length=found.length)
    if isinstance(found, h.HVarcharType):
        return t.VarCharType(length=found.length)
    if isinstance(found, h.HListType):
        return t.ArrayType(element=_paimon_type(found.element_type))
    if isinstance(found, h.HMapType):
        return t.MapType(key=_paimon_type(found.key_type), value=_paimon_type(found.value_type))
    if isinstance(found, h.HStructType):
        pairs = enumerate(zip(found.names, found.types, strict=True))
        return t.RowType(fields=tuple(t.DataField(i, name, _paimon_type(of)) for i, (name, of) in pairs))
    raise ValueError(found)
