"""Avro schemas as parsed JSON, and the min size of their records (Avro specification 1.11, "Schema Declaration").

Schemas by which few bytes could decode to any number of values are refused; no writer of Paimon makes them: recursive
types, and values of no bytes (Avro specification 1.11, "Binary encoding").
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NotRequired, TypeAlias, TypedDict

from paimon_sql.format.bytes.bounded import BoundsError, load_json

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


_INNER: tuple[Literal["items"], Literal["values"], Literal["type"]] = ("items", "values", "type")


def without_logical_types(schema: AvroType) -> AvroType:
    """The schema of the same encoding whose values are those of the physical types."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return [without_logical_types(branch) for branch in schema]
    plain = schema.copy()
    plain.pop("logicalType", None)
    for member in _INNER:
        if member in plain:
            plain[member] = without_logical_types(plain[member])
    if "fields" in plain:
        plain["fields"] = [{**f, "type": without_logical_types(f["type"])} for f in plain["fields"]]
    return plain


_SIZES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}
"""Min bytes of a value; those of variable length have at least a length or a first byte."""


@lru_cache(maxsize=64)
def min_record_size(schema_text: str) -> int:
    """Min bytes of a record of a schema; 0 for a record without fields, of which a file has none.

    Args:
        schema_text: the schema as JSON.

    Raises:
        ValueError: it is not a schema, or one by which the number of bytes does not limit the number of values.
    """
    return _Sizes().of(load_json(schema_text))


class _Sizes:
    def __init__(self) -> None:
        self._named: dict[str, int | None] = {}
        """Min bytes of each named type; None while its definition is read."""

    def of(self, schema: AvroType) -> int:
        if isinstance(schema, str):
            return self._reference(schema)
        if isinstance(schema, list):
            return 1 + min((0 if s == "null" else self.of(s) for s in schema), default=0)
        if not isinstance(schema, dict):
            raise BoundsError(f"its schema holds {schema!r} instead of a type")
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema)
        if kind in ("array", "map"):
            if not self.of(schema["items" if kind == "array" else "values"]) and kind == "array":
                raise BoundsError("its schema holds an array whose elements take no bytes")
            return 1
        if kind == "fixed":
            return self._defined(schema, _positive(schema["size"]))
        if kind == "enum":
            return self._defined(schema, 1)
        return self.of(kind)

    def _reference(self, name: str) -> int:
        known = _SIZES.get(name, self._named.get(name.rpartition(".")[2]))
        if known is None:
            raise BoundsError(f"its schema uses the type {name} inside or before its definition")
        return known

    def _record(self, schema: AvroMembers) -> int:
        fields = schema["fields"]
        self._named[_name(schema)] = None
        sizes = [self.of(field["type"]) for field in fields]
        if any(not size and not _is_empty(field["type"]) for size, field in zip(sizes, fields, strict=True)):
            raise BoundsError("its schema holds a field that takes no bytes")
        if fields and not any(sizes):
            raise BoundsError("its schema holds a record whose fields take no bytes")
        return self._defined(schema, sum(sizes))

    def _defined(self, schema: AvroMembers, size: int) -> int:
        known = self._named.get(_name(schema))
        # Names are stored without namespace: of two types of one name the smaller size is a bound of both.
        self._named[_name(schema)] = size if known is None else min(known, size)
        return size


def _name(schema: AvroMembers) -> str:
    return str(schema["name"]).rpartition(".")[2]


def _is_empty(schema: AvroType) -> bool:
    """Whether a type is a record without fields: the Avro type of a row type without fields."""
    return isinstance(schema, dict) and schema.get("type") == "record" and not schema["fields"]


def _positive(size: object) -> int:
    if not isinstance(size, int) or size < 1:
        raise BoundsError(f"its schema holds a fixed type of {size!r} bytes")
    return size
