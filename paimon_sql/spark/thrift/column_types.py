"""JDBC descriptions of column types: code of ``java.sql.Types``, name and sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from paimon_sql.sql.text.names import name_sql

_MAX_SIZE = 2**31 - 1
_WITH_LENGTH = re.compile(r"(decimal|char|varchar)\((\d+)(?:,(-?\d+))?\)")
_FRACTION = 6
"""Spark's precision of timestamps: fractional digits of a second."""


@dataclass(frozen=True)
class JdbcType:
    """JDBC's description of a type.

    Attributes:
        code: the constant of ``java.sql.Types``.
        size: digits of a number, characters of a string, or of a printed date or time; None if it has none.
        digits: fractional digits.
        radix: the base of ``size`` and ``digits``; None if the type is not numeric.
    """

    code: int
    size: int | None = None
    digits: int | None = None
    radix: int | None = None


_ATOMIC = {
    "boolean": JdbcType(16),
    "byte": JdbcType(-6, 3, 0, 10),
    "short": JdbcType(5, 5, 0, 10),
    "integer": JdbcType(4, 10, 0, 10),
    "long": JdbcType(-5, 19, 0, 10),
    "float": JdbcType(6, 7, 7, 10),
    "double": JdbcType(8, 15, 15, 10),
    "string": JdbcType(12, _MAX_SIZE),
    "binary": JdbcType(-2, _MAX_SIZE),
    "date": JdbcType(91, 10),
    "timestamp": JdbcType(93, 20 + _FRACTION, _FRACTION),
    "timestamp_ntz": JdbcType(93, 20 + _FRACTION, _FRACTION),
}
_NESTED = {"array": JdbcType(2003), "map": JdbcType(2000), "struct": JdbcType(2002)}
_OTHER = JdbcType(1111)
_NAMES = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}


def jdbc_type(kind: Any) -> JdbcType:
    """Return JDBC's description of a type, which is in Spark's JSON."""
    if not isinstance(kind, str):
        return _NESTED.get(kind["type"], _OTHER)
    if (match := _WITH_LENGTH.fullmatch(kind)) is None:
        return _ATOMIC.get(kind, _OTHER)
    size = int(match[2])
    if match[1] == "decimal":
        return JdbcType(3, size, int(match[3]), 10)
    return JdbcType(1 if match[1] == "char" else 12, size)


def type_name(kind: Any) -> str:
    """Return Spark's SQL of a type, which is in Spark's JSON."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind.upper())
    if kind["type"] == "array":
        return f"ARRAY<{type_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{type_name(kind['keyType'])}, {type_name(kind['valueType'])}>"
    fields = (f"{name_sql(f['name'])}: {type_name(f['type'])}" for f in kind["fields"])
    return f"STRUCT<{', '.join(fields)}>"
