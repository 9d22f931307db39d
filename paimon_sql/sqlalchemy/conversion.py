"""Types whose values SQL converts: Hive's protocol has no instants, arrays, maps, structs and variants but as text.

An instant is selected with its offset; without, it would be a local time of the session. Nested values travel as JSON.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, cast

from sqlalchemy import cast as sql_cast
from sqlalchemy import func, literal_column
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql.elements import BindParameter, ColumnElement
from sqlalchemy.sql.sqltypes import Boolean, Date, DateTime, Float, Integer, LargeBinary, Numeric, String
from sqlalchemy.sql.type_api import TypeEngine

from paimon_sql.sqlalchemy.literals import literal
from paimon_sql.sqlalchemy.type_compiler import PaimonTypeCompiler, SqlType

Value: TypeAlias = object
Processor: TypeAlias = Callable[[Value], Value]
_TIME_STAMP = "yyyy-MM-dd HH:mm:ss.SSSSSS"
_INSTANT = f"{_TIME_STAMP}xxxxx"
"""Spark's pattern of a time stamp with its offset, as `datetime.fromisoformat` reads it."""

_OPTIONS = f"map('ignoreNullFields', 'false', 'timestampFormat', '{_INSTANT}', 'timestampNTZFormat', '{_TIME_STAMP}')"


if TYPE_CHECKING:
    _Base = TypeEngine[Value]
else:
    _Base = TypeEngine  # SQLAlchemy 1.4 has no generic types


class TimeStamp(DateTime):
    """A local time or, with a time zone, an instant, which has an offset in Python."""

    def column_expression(self, column: ColumnElement[datetime]) -> ColumnElement[datetime]:
        return func.date_format(column, literal_column(f"'{_INSTANT}'"), type_=self) if self.timezone else column

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[datetime | str | None], datetime | None]:
        return lambda value: datetime.fromisoformat(value) if isinstance(value, str) else value


class Nested(_Base):
    """A type whose values are read by ``to_json`` and written by a function that parses JSON."""

    hashable = False

    def column_expression(self, column: ColumnElement[Value]) -> ColumnElement[Value]:
        return func.to_json(column, literal_column(_OPTIONS), type_=self)

    def bind_processor(self, dialect: Dialect) -> Processor:
        return lambda value: None if value is None else json.dumps(to_json(self, value))

    def result_processor(self, dialect: Dialect, coltype: object) -> Processor:
        def process(value: Value) -> Value:
            # Text that no typed column selected is not JSON, but what Spark prints.
            return from_json(self, json.loads(value, parse_float=Decimal)) if isinstance(value, str) else value

        return process


class _Typed(Nested):
    def bind_expression(self, bindvalue: BindParameter[Value]) -> ColumnElement[Value]:
        parsed = _with_text_keys(self)
        schema: ColumnElement[Value] = literal_column(_schema_of(parsed))
        found = func.from_json(bindvalue, schema, literal_column(_OPTIONS), type_=parsed)
        return found if _schema_of(parsed) == _schema_of(self) else sql_cast(found, self)


def _schema_of(kind: SqlType) -> str:
    return literal(PaimonTypeCompiler(DefaultDialect()).process(kind)).replace("%", "%%")


class ARRAY(_Typed):
    """An array: a list.

    Args:
        item: the type of its elements.
    """

    __visit_name__ = "ARRAY"

    def __init__(self, item: SqlType | type[SqlType]) -> None:
        self.item = item() if isinstance(item, type) else item


class MAP(_Typed):
    """A map: a dictionary.

    Args:
        key: the type of its keys: a string, a number or a boolean.
        value: the type of its values.
    """

    __visit_name__ = "MAP"

    def __init__(
        self,
        key: SqlType | type[SqlType],
        value: SqlType | type[SqlType],
    ) -> None:
        self.key = key() if isinstance(key, type) else key
        self.value = value() if isinstance(value, type) else value


class STRUCT(_Typed):
    """A struct: a dictionary of its fields.

    Args:
        fields: the types of its fields by name.
    """

    __visit_name__ = "STRUCT"

    def __init__(self, fields: Mapping[str, SqlType] | Sequence[tuple[str, SqlType]]) -> None:
        self.fields = tuple(fields.items() if isinstance(fields, Mapping) else fields)


class VARIANT(Nested):
    """A variant: any value that JSON has."""

    __visit_name__ = "VARIANT"

    def bind_expression(self, bindvalue: BindParameter[Value]) -> ColumnElement[Value]:
        return func.parse_json(bindvalue, type_=self)


def _with_text_keys(kind: SqlType) -> SqlType:
    """The type as ``from_json`` has it, whose maps have strings as keys."""
    if isinstance(kind, ARRAY):
        return ARRAY(_with_text_keys(kind.item))
    if isinstance(kind, MAP):
        return MAP(String(), _with_text_keys(kind.value))
    if isinstance(kind, STRUCT):
        return STRUCT([(name, _with_text_keys(field)) for name, field in kind.fields])
    return kind


def to_json(kind: SqlType, value: Value) -> Value:
    """A value of Python as JSON has it for Spark.

    Args:
        kind: its type.
        value: the value.
    """
    if value is None or isinstance(kind, VARIANT):
        return value
    if isinstance(kind, ARRAY):
        return [to_json(kind.item, item) for item in cast("Sequence[Value]", value)]
    if isinstance(kind, MAP):
        return {str(key): to_json(kind.value, item) for key, item in cast("Mapping[Value, Value]", value).items()}
    if isinstance(kind, STRUCT):
        given = cast("Mapping[str, Value]", value)
        return {name: to_json(field, given.get(name)) for name, field in kind.fields}
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="microseconds")
    return str(value) if isinstance(value, (date, Decimal)) else value


def from_json(kind: SqlType, value: Value) -> Value:
    """A value of Python of what Spark wrote as JSON.

    Args:
        kind: its type.
        value: what JSON has; numbers with a point are decimals.
    """
    if value is None:
        return None
    if isinstance(kind, ARRAY):
        return [from_json(kind.item, item) for item in cast("list[Value]", value)]
    if isinstance(kind, MAP):
        items = cast("dict[str, Value]", value).items()
        return {_key(kind.key, key): from_json(kind.value, item) for key, item in items}
    if isinstance(kind, STRUCT):
        given = cast("dict[str, Value]", value)
        return {name: from_json(field, given.get(name)) for name, field in kind.fields}
    if isinstance(kind, VARIANT):
        return json.loads(json.dumps(value, default=float))
    return _scalar(kind, value)


def _scalar(kind: SqlType, value: Value) -> Value:
    if isinstance(kind, Float):
        return float(str(value))
    if isinstance(kind, Numeric):
        return Decimal(str(value))
    if isinstance(kind, LargeBinary):
        return b64decode(str(value))
    if isinstance(kind, DateTime):
        return datetime.fromisoformat(str(value))
    return date.fromisoformat(str(value)) if isinstance(kind, Date) else value


def _key(kind: SqlType, key: str) -> Value:
    """A key of a map, which JSON has as text."""
    if isinstance(kind, Boolean):
        return key == "true"
    return int(key) if isinstance(kind, Integer) else _scalar(kind, key)
