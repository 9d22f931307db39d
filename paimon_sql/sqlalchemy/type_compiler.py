"""Types of SQLAlchemy in Spark's SQL."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol, TypeAlias

from sqlalchemy.exc import CompileError
from sqlalchemy.sql import sqltypes as s
from sqlalchemy.sql.compiler import GenericTypeCompiler
from sqlalchemy.sql.type_api import TypeEngine

from paimon_sql.sql.text.names import quote_name

_SINGLE_BITS = 24
"""The bits of the mantissa of a FLOAT; more need a DOUBLE."""
_PRECISION, _SCALE = 38, 18
"""What a DECIMAL without precision becomes; Spark's own default has no fractional digits."""


SqlType: TypeAlias = "TypeEngine[typing.Any]"
"""A type, whatever its values are; SQLAlchemy's types are invariant, and not generic before 2.0."""


class ArrayType(Protocol):
    """A type with elements."""

    item: SqlType


class MapType(Protocol):
    """A type with keys and values."""

    key: SqlType
    value: SqlType


class StructType(Protocol):
    """A type with fields."""

    fields: Sequence[tuple[str, SqlType]]


class PaimonTypeCompiler(GenericTypeCompiler):
    """A string without a length is STRING, a ``DateTime`` a local time, and one with a time zone an instant."""

    def visit_INTEGER(self, type_: s.Integer, **kw: object) -> str:
        return "INT"

    def visit_TINYINT(self, type_: s.Integer, **kw: object) -> str:
        return "TINYINT"

    def visit_float(self, type_: s.Float[float], **kw: object) -> str:
        return "FLOAT" if type_.precision is not None and type_.precision <= _SINGLE_BITS else "DOUBLE"

    def visit_FLOAT(self, type_: s.Float[float], **kw: object) -> str:
        return "DOUBLE" if type_.precision is not None and type_.precision > _SINGLE_BITS else "FLOAT"

    def visit_REAL(self, type_: s.Float[float], **kw: object) -> str:
        return "FLOAT"

    def visit_double(self, type_: s.Float[float], **kw: object) -> str:
        return "DOUBLE"

    def visit_DOUBLE(self, type_: s.Float[float], **kw: object) -> str:
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: s.Float[float], **kw: object) -> str:
        return "DOUBLE"

    def visit_NUMERIC(self, type_: s.Numeric[Decimal], **kw: object) -> str:
        if type_.precision is None:
            return f"DECIMAL({_PRECISION}, {_SCALE if type_.scale is None else type_.scale})"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC

    def visit_VARCHAR(self, type_: s.String, **kw: object) -> str:
        return "STRING" if type_.length is None else f"VARCHAR({type_.length})"

    visit_NVARCHAR = visit_VARCHAR

    def visit_CHAR(self, type_: s.String, **kw: object) -> str:
        return f"CHAR({type_.length or 1})"

    visit_NCHAR = visit_CHAR

    def visit_TEXT(self, type_: s.String, **kw: object) -> str:
        return "STRING"

    visit_CLOB = visit_TEXT
    visit_JSON = visit_TEXT

    def visit_BINARY(self, type_: SqlType, **kw: object) -> str:
        return "BINARY"

    visit_VARBINARY = visit_BINARY
    visit_BLOB = visit_BINARY

    def visit_DATETIME(self, type_: s.DateTime, **kw: object) -> str:
        return "TIMESTAMP_LTZ" if type_.timezone else "TIMESTAMP_NTZ"

    visit_TIMESTAMP = visit_DATETIME

    def visit_TIME(self, type_: s.Time, **kw: object) -> str:
        raise CompileError("Tables have no times of day in Spark. Use a string.")

    def visit_ARRAY(self, type_: ArrayType, **kw: object) -> str:
        return f"ARRAY<{self.process(type_.item)}>"

    def visit_MAP(self, type_: MapType, **kw: object) -> str:
        return f"MAP<{self.process(type_.key)}, {self.process(type_.value)}>"

    def visit_STRUCT(self, type_: StructType, **kw: object) -> str:
        return f"STRUCT<{', '.join(f'{quote_name(name)}: {self.process(kind)}' for name, kind in type_.fields)}>"

    def visit_VARIANT(self, type_: object, **kw: object) -> str:
        return "VARIANT"
