"""Data types of Paimon, with their JSON and SQL forms.

Types are immutable values. The JSON form is that of schema files (spec: Schema, "Data Types"): a string for an
atomic type (``"DECIMAL(10, 2) NOT NULL"``), an object for a nested one (``{"type": "ARRAY", "element": "INT"}``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import ClassVar, NotRequired, TypeAlias, TypedDict, TypeVar, cast

from paimon_sql.errors import InvalidSchemaError

TypeJson: TypeAlias = "str | NestedJson"
"""A type as in a schema file."""


class FieldJson(TypedDict):
    """A field as in a schema file."""

    id: int
    name: str
    type: TypeJson
    description: NotRequired[str | None]
    defaultValue: NotRequired[str | None]


class NestedJson(TypedDict, total=False):
    """A nested type as in a schema file: the members of all kinds."""

    type: str
    element: TypeJson
    length: int
    key: TypeJson
    value: TypeJson
    fields: list[FieldJson]


MAX_LENGTH = 2**31 - 1
"""The max length of strings and bytes, which is that of STRING and BYTES."""

Self = TypeVar("Self", bound="DataType")


@dataclass(frozen=True, slots=True)
class DataType:
    """Base class of data types; a subclass without members of its own is a dataclass like its base."""

    root: ClassVar[str] = ""

    nullable: bool = True

    def as_nullable(self: Self, nullable: bool = True) -> Self:
        """The same type with the given nullability."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def sql(self) -> str:
        """The type in Paimon's SQL, for example ``VARCHAR(10) NOT NULL``."""
        return self._name() + ("" if self.nullable else " NOT NULL")

    def to_json(self) -> TypeJson:
        """The type as in a schema file."""
        return self.sql()

    def children(self) -> tuple[DataType, ...]:
        """The directly nested types; none for an atomic type."""
        return ()

    def _name(self) -> str:
        return self.root

    def __str__(self) -> str:
        return self.sql()


class BooleanType(DataType):
    """TRUE or FALSE."""

    root = "BOOLEAN"


class TinyIntType(DataType):
    """An integer of 1 byte."""

    root = "TINYINT"


class SmallIntType(DataType):
    """An integer of 2 bytes."""

    root = "SMALLINT"


class IntType(DataType):
    """An integer of 4 bytes."""

    root = "INT"


class BigIntType(DataType):
    """An integer of 8 bytes."""

    root = "BIGINT"


class FloatType(DataType):
    """A floating-point number of 4 bytes."""

    root = "FLOAT"


class DoubleType(DataType):
    """A floating-point number of 8 bytes."""

    root = "DOUBLE"


class DateType(DataType):
    """A date without a time."""

    root = "DATE"


@dataclass(frozen=True, slots=True)
class VariantType(DataType):
    """A value of any structure, in Parquet's variant encoding.

    ``paths`` are set by a scan: the paths, of object keys and array indexes, to the required parts of the values. Other
    parts may be missing. None requires complete values.
    """

    root = "VARIANT"
    paths: tuple[tuple[str | int, ...], ...] | None = None


class BlobType(DataType):
    """A large binary value, stored in separate files."""

    root = "BLOB"


@dataclass(frozen=True, slots=True)
class _LengthType(DataType):
    """A string or bytes with a declared length, at least 1."""

    length: int = 1
    longest: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        if not 1 <= self.length <= MAX_LENGTH:
            raise InvalidSchemaError(f"{self.root}({self.length}): the length must be between 1 and {MAX_LENGTH}.")

    def _name(self) -> str:
        return self.longest if self.longest and self.length == MAX_LENGTH else f"{self.root}({self.length})"


class CharType(_LengthType):
    """A string of a fixed number of characters."""

    root = "CHAR"


class VarCharType(_LengthType):
    """A string of at most ``length`` characters; STRING is the type of max length."""

    root = "VARCHAR"
    longest = "STRING"


class BinaryType(_LengthType):
    """A fixed number of bytes."""

    root = "BINARY"


class VarBinaryType(_LengthType):
    """At most ``length`` bytes; BYTES is the type of max length."""

    root = "VARBINARY"
    longest = "BYTES"


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """An exact number of ``precision`` digits, ``scale`` of them after the decimal point."""

    root = "DECIMAL"
    precision: int = 10
    scale: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.precision <= 38:
            raise InvalidSchemaError(f"{self._name()}: the precision must be between 1 and 38.")
        if not 0 <= self.scale <= self.precision:
            raise InvalidSchemaError(f"{self._name()}: the scale must be between 0 and the precision.")

    def _name(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class _PrecisionType(DataType):
    """A time with ``precision`` digits of fractional seconds, from 0 to 9."""

    precision: int = 6

    def __post_init__(self) -> None:
        if not 0 <= self.precision <= 9:
            raise InvalidSchemaError(f"{self._name()}: the precision must be between 0 and 9.")

    def _name(self) -> str:
        return f"{self.root}({self.precision})"


@dataclass(frozen=True, slots=True)
class TimeType(_PrecisionType):
    """A time of day."""

    root = "TIME"
    precision: int = 0


class TimestampType(_PrecisionType):
    """A date and time without a zone."""

    root = "TIMESTAMP"


class LocalZonedTimestampType(_PrecisionType):
    """A point in time, shown in the session's zone."""

    root = "TIMESTAMP_LTZ"

    def _name(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"


@dataclass(frozen=True, slots=True)
class _NestedType(DataType):
    """A type made of other types; its JSON form is an object with the same members."""

    def to_json(self) -> NestedJson:
        head = self.root if self.nullable else f"{self.root} NOT NULL"
        members = {member.name: _member_json(getattr(self, member.name)) for member in fields(self)[1:]}
        return cast("NestedJson", {"type": head, **members})


def _member_json(member: object) -> object:
    if isinstance(member, tuple):
        return [inner.to_json() for inner in member]
    return member.to_json() if isinstance(member, DataType) else member


_INT, _FLOAT = IntType(), FloatType()


@dataclass(frozen=True, slots=True)
class _ElementType(_NestedType):
    """A type of elements of one type."""

    element: DataType = _INT

    def children(self) -> tuple[DataType, ...]:
        return (self.element,)

    def _name(self) -> str:
        return f"{self.root}<{self.element.sql()}>"


class ArrayType(_ElementType):
    """A list of elements of one type."""

    root = "ARRAY"


@dataclass(frozen=True, slots=True)
class VectorType(_ElementType):
    """A list of exactly ``length`` numbers."""

    root = "VECTOR"
    element: DataType = _FLOAT
    length: int = 1

    def _name(self) -> str:
        return f"VECTOR<{self.element.sql()}, {self.length}>"


class MultisetType(_ElementType):
    """A bag: elements with their number of occurrences."""

    root = "MULTISET"


@dataclass(frozen=True, slots=True)
class MapType(_NestedType):
    """Keys of one type with values of another."""

    root = "MAP"
    key: DataType = _INT
    value: DataType = _INT

    def children(self) -> tuple[DataType, ...]:
        return (self.key, self.value)

    def _name(self) -> str:
        return f"MAP<{self.key.sql()}, {self.value.sql()}>"


@dataclass(frozen=True, slots=True)
class DataField:
    """A named column of a table or of a row type.

    ``id`` identifies the column across renames and moves; ``default`` is its default value as SQL text.
    """

    id: int
    name: str
    type: DataType
    description: str | None = None
    default: str | None = None

    def to_json(self) -> FieldJson:
        """The field as in a schema file."""
        body: FieldJson = {"id": self.id, "name": self.name, "type": self.type.to_json()}
        if self.description is not None:
            body["description"] = self.description
        if self.default is not None:
            body["defaultValue"] = self.default
        return body

    def sql(self) -> str:
        """The field as in a ROW type: quoted name, type, comment and default."""
        name = self.name.replace("`", "``")
        text = f"`{name}` {self.type.sql()}"
        if self.description:
            text += " COMMENT '" + self.description.replace("'", "''") + "'"
        if self.default is not None:
            text += f" DEFAULT {self.default}"
        return text


@dataclass(frozen=True, slots=True)
class RowType(_NestedType):
    """A sequence of named fields, as a column's type or as the columns of a table."""

    root = "ROW"
    fields: tuple[DataField, ...] = ()

    def children(self) -> tuple[DataType, ...]:
        return tuple(f.type for f in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(f.name for f in self.fields)

    def field(self, name: str) -> DataField:
        """The field of that exact name.

        Raises:
            KeyError: there is none.
        """
        for f in self.fields:
            if f.name == name:
                return f
        raise KeyError(name)

    def _name(self) -> str:
        return f"ROW<{', '.join(f.sql() for f in self.fields)}>"


INTEGERS = (TinyIntType, SmallIntType, IntType, BigIntType)
FLOATS = (FloatType, DoubleType)
TEXTS = (CharType, VarCharType)
BYTES = (BinaryType, VarBinaryType)
TIMESTAMPS = (TimestampType, LocalZonedTimestampType)
_ORDERED = (BooleanType, *INTEGERS, *FLOATS, DecimalType, DateType, TimeType, *TIMESTAMPS, VarCharType, VarBinaryType)


def string_type(nullable: bool = True) -> VarCharType:
    """The type STRING."""
    return VarCharType(nullable, MAX_LENGTH)


def bytes_type(nullable: bool = True) -> VarBinaryType:
    """The type BYTES."""
    return VarBinaryType(nullable, MAX_LENGTH)


_PLAIN: dict[str, DataType] = {
    **{kind.root: kind() for kind in (BooleanType, *INTEGERS, *FLOATS, DateType, VariantType, BlobType)},
    "INTEGER": IntType(),
    "DOUBLE PRECISION": DoubleType(),
    "STRING": string_type(),
    "BYTES": bytes_type(),
}

_WITH_PARAMETERS: dict[str, Callable[..., DataType]] = {
    **{kind.root: partial(kind, True) for kind in (*TEXTS, *BYTES)},
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC"), partial(DecimalType, True)),
    **dict.fromkeys(("TIME", "TIME WITHOUT TIME ZONE"), partial(TimeType, True)),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITHOUT TIME ZONE"), partial(TimestampType, True)),
    **dict.fromkeys(("TIMESTAMP_LTZ", "TIMESTAMP WITH LOCAL TIME ZONE"), partial(LocalZonedTimestampType, True)),
}

_ATOMIC = re.compile(r"([A-Z_ ]+)(?:\(\s*(\d{1,10})\s*(?:,\s*(\d{1,10})\s*)?\)([A-Z ]*))?")


def parse_atomic(text: str) -> DataType:
    """Parse an atomic type of a schema file, for example ``TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL``.

    Source: Paimon: `DataTypeJsonParser`.

    Raises:
        InvalidSchemaError: there is no such type.
    """
    words = " ".join(text.upper().split())
    nullable = True
    if words.endswith(" NOT NULL"):
        words, nullable = words.removesuffix(" NOT NULL"), False
    elif words.endswith(" NULL"):
        words = words.removesuffix(" NULL")
    if match := _ATOMIC.fullmatch(words):
        name = " ".join(f"{match[1]} {match[4] or ''}".split())
        numbers = [int(n) for n in match.group(2, 3) if n is not None]
        if not numbers and name in _PLAIN:
            return _PLAIN[name].as_nullable(nullable)
        if name in _WITH_PARAMETERS and len(numbers) <= (2 if name in ("DECIMAL", "NUMERIC", "DEC") else 1):
            return _WITH_PARAMETERS[name](*numbers).as_nullable(nullable)
    raise InvalidSchemaError(f"Unknown data type '{text}'.")


def parse_type(json: TypeJson) -> DataType:
    """Parse a type of a schema file.

    Raises:
        InvalidSchemaError: there is no such type, or it lacks a member.
    """
    if isinstance(json, str):
        return parse_atomic(json)
    head = str(json.get("type", ""))
    nullable = "NOT NULL" not in head
    kind = head.split(" ", 1)[0]
    if kind not in _NESTED:
        raise InvalidSchemaError(f"Unknown data type '{head}'.")
    try:
        return _NESTED[kind](nullable, json)
    except KeyError as missing:
        raise InvalidSchemaError(f"A {kind} type lacks its {missing}.") from None


_NESTED: dict[str, Callable[[bool, NestedJson], DataType]] = {
    "ARRAY": lambda nullable, json: ArrayType(nullable, parse_type(json["element"])),
    "VECTOR": lambda nullable, json: VectorType(nullable, parse_type(json["element"]), int(json["length"])),
    "MULTISET": lambda nullable, json: MultisetType(nullable, parse_type(json["element"])),
    "MAP": lambda nullable, json: MapType(nullable, parse_type(json["key"]), parse_type(json["value"])),
    "ROW": lambda nullable, json: RowType(nullable, tuple(map(parse_field, json["fields"]))),
}


def parse_field(json: FieldJson) -> DataField:
    """Parse a field of a schema file; unknown members are ignored."""
    return DataField(
        id=int(json["id"]),
        name=str(json["name"]),
        type=parse_type(json["type"]),
        description=json.get("description"),
        default=json.get("defaultValue"),
    )


def is_floating(data_type: DataType) -> bool:
    """Whether values of a type can be NaN, which bounds do not include."""
    return isinstance(data_type, FLOATS)


def is_ordered(data_type: DataType) -> bool:
    """Whether values of a type have an order that is the same here and in SQL."""
    return isinstance(data_type, _ORDERED)


def entry_types(data_type: MapType | MultisetType) -> tuple[DataType, DataType]:
    """The types of keys and values; those of a multiset are its elements and their counts."""
    return (data_type.key, data_type.value) if isinstance(data_type, MapType) else (data_type.element, IntType(False))


def walk(data_type: DataType) -> Iterator[DataType]:
    """Yield the type and all nested types, parents first."""
    yield data_type
    for child in data_type.children():
        yield from walk(child)


def field_ids(data_type: DataType) -> Iterator[int]:
    """Yield the ids of all fields nested in the type at any depth."""
    for t in walk(data_type):
        if isinstance(t, RowType):
            yield from (f.id for f in t.fields)


def reassign_ids(data_type: DataType, next_id: Callable[[], int]) -> DataType:
    """The same type with new ids of all nested fields, assigned to children before their parent."""
    if isinstance(data_type, RowType):
        rebuilt = []
        for f in data_type.fields:
            inner = reassign_ids(f.type, next_id)
            rebuilt.append(replace(f, id=next_id(), type=inner))
        return replace(data_type, fields=tuple(rebuilt))
    if isinstance(data_type, MapType):
        key = reassign_ids(data_type.key, next_id)
        return replace(data_type, key=key, value=reassign_ids(data_type.value, next_id))
    if isinstance(data_type, _ElementType):
        return replace(data_type, element=reassign_ids(data_type.element, next_id))
    return data_type
