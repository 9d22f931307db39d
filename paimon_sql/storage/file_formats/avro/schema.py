"""Avro schemas of data files: generated from columns, and mapped to columns on read.

Names, unions, defaults and logical types are those of Paimon's Java writer. A map whose keys are not strings is an
array of key-value records with the logical type ``map`` (spec: Avro).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.avro.schemas import AvroField, AvroMembers, AvroType
from paimon_sql.format.schema import types as t

_NAMESPACE = "org.apache.paimon.avro.generated"
_ROOT = "record"
_PLAIN: dict[type[t.DataType], str] = {
    t.BooleanType: "boolean",
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType), "int"),
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    **dict.fromkeys(t.TEXTS, "string"),
    **dict.fromkeys((*t.BYTES, t.BlobType), "bytes"),
}
_MILLIS_DIGITS, _MICROS_DIGITS = 3, 6


def avro_schema(fields: Sequence[t.DataField]) -> str:
    """Return the schema of files with these columns, as the JSON of a file's header.

    Raises:
        UnsupportedError: Avro does not support a type.
    """
    body = {"type": "record", "name": _ROOT, "namespace": _NAMESPACE, "fields": _fields(fields, _ROOT)}
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def _fields(fields: Sequence[t.DataField], name: str) -> list[AvroField]:
    return [_field(f.name, f.type, f"{name}_{f.name}") for f in fields]


def _field(name: str, data_type: t.DataType, type_name: str) -> AvroField:
    member: AvroField = {"name": name, "type": _schema(data_type, type_name)}
    return {**member, "default": None} if data_type.nullable else member


def _schema(data_type: t.DataType, name: str) -> AvroType:
    plain = _not_null(data_type, name)
    return ["null", plain] if data_type.nullable else plain


def _not_null(data_type: t.DataType, name: str) -> AvroType:
    match data_type:
        case t.DecimalType():
            precision, scale = data_type.precision, data_type.scale
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case t.DateType():
            return {"type": "int", "logicalType": "date"}
        case t.TimeType():
            return {"type": "int", "logicalType": "time-millis"}
        case t.TimestampType() | t.LocalZonedTimestampType():
            local = "local-" if isinstance(data_type, t.LocalZonedTimestampType) else ""
            return {"type": "long", "logicalType": f"{local}timestamp-{_unit(data_type)}"}
        case t.RowType():
            return {"type": "record", "name": name, "fields": _fields(data_type.fields, name)}
        case t.ArrayType() | t.VectorType():
            return {"type": "array", "items": _schema(data_type.element, name)}
        case t.MapType():
            return _map(data_type.key, data_type.value, name)
        case t.MultisetType():
            return _map(data_type.element, t.IntType(), name)
    if type(data_type) in _PLAIN:
        return _PLAIN[type(data_type)]
    raise UnsupportedError(f"Avro files cannot hold {data_type.sql()}.", remedy="Set 'file.format' = 'parquet'.")


def _unit(data_type: t.TimestampType | t.LocalZonedTimestampType) -> str:
    if data_type.precision > _MICROS_DIGITS:
        raise UnsupportedError(
            f"Avro files cannot hold {data_type.sql()}: they do not support times finer than microseconds.",
            remedy="Use a precision of at most 6, or set 'file.format' = 'parquet'.",
        )
    return "millis" if data_type.precision <= _MILLIS_DIGITS else "micros"


def has_text_keys(key: t.DataType) -> bool:
    """Whether a map with such keys is an Avro map."""
    return isinstance(key, t.CharType | t.VarCharType)


def _map(key: t.DataType, value: t.DataType, name: str) -> AvroMembers:
    if has_text_keys(key):
        return {"type": "map", "values": _schema(value, name)}
    members: list[AvroField] = [
        {"name": "key", "type": _schema(key, f"{name}_key")},
        _field("value", value, f"{name}_value"),
    ]
    return {"type": "array", "items": {"type": "record", "name": name, "fields": members}, "logicalType": "map"}


def branch_of(schema: AvroType) -> AvroMembers:
    """Return the members of a union's only non-null branch, or of any other schema."""
    branches = [branch for branch in schema if branch != "null"] if isinstance(schema, list) else [schema]
    if len(branches) != 1:
        raise UnsupportedError(f"An Avro union of {len(branches)} types cannot be read as a column.")
    (branch,) = branches
    return branch if isinstance(branch, dict) else {"type": branch}
