"""Avro schemas as parsed JSON (Avro specification 1.11, "Schema Declaration")."""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict

AvroType: TypeAlias = "str | list[AvroType] | AvroMembers"
"""A type: its name, a union's branches, or the members of a type with parameters."""


AvroRecord: TypeAlias = dict[str, object]
"""A record as fastavro reads and writes it: values by field."""


class AvroField(TypedDict):
    """A field of a record."""

    name: str
    type: AvroType
    default: NotRequired[None]


class AvroMembers(TypedDict, total=False):
    """The members of all kinds of types; each kind has some of them."""

    type: AvroType
    name: str
    namespace: str
    fields: list[AvroField]
    items: AvroType
    values: AvroType
    size: int
    logicalType: str
    precision: int
    scale: int


def without_logical_types(schema: AvroType) -> AvroType:
    """The schema of the same encoding whose values are those of the physical types."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return [without_logical_types(branch) for branch in schema]
    plain = schema.copy()
    plain.pop("logicalType", None)
    if "items" in plain:
        plain["items"] = without_logical_types(plain["items"])
    if "values" in plain:
        plain["values"] = without_logical_types(plain["values"])
    if "type" in plain:
        plain["type"] = without_logical_types(plain["type"])
    if "fields" in plain:
        plain["fields"] = [{**f, "type": without_logical_types(f["type"])} for f in plain["fields"]]
    return plain
