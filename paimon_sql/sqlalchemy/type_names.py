"""The server's names of types, such as ``MAP<STRING, DECIMAL(10,2)>``, as types of SQLAlchemy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.sql import sqltypes as s

from paimon_sql.sqlalchemy.conversion import ARRAY, MAP, STRUCT, VARIANT
from paimon_sql.sqlalchemy.type_compiler import SqlType

Item = TypeVar("Item")


class TINYINT(s.Integer):
    """An integer of 8 bits."""

    __visit_name__ = "TINYINT"


_DOUBLE = getattr(s, "DOUBLE", s.FLOAT)
"""SQLAlchemy 1.4 has no DOUBLE."""

_ATOMIC: dict[str, Callable[..., SqlType]] = {
    "BOOLEAN": s.BOOLEAN,
    "TINYINT": TINYINT,
    "BYTE": TINYINT,
    "SMALLINT": s.SMALLINT,
    "SHORT": s.SMALLINT,
    "INT": s.INTEGER,
    "INTEGER": s.INTEGER,
    "BIGINT": s.BIGINT,
    "LONG": s.BIGINT,
    "FLOAT": lambda: s.FLOAT(24),
    "DOUBLE": lambda: _DOUBLE(53),
    "DECIMAL": s.DECIMAL,
    "CHAR": s.CHAR,
    "VARCHAR": s.VARCHAR,
    "STRING": s.String,
    "BINARY": s.LargeBinary,
    "DATE": s.DATE,
    "TIMESTAMP": lambda: s.TIMESTAMP(timezone=True),
    "TIMESTAMP_LTZ": lambda: s.TIMESTAMP(timezone=True),
    "TIMESTAMP_NTZ": s.TIMESTAMP,
    "VARIANT": VARIANT,
}
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^'\\]|\\.|'')*')|(\w+)|(.))", re.DOTALL)


def type_named(name: str) -> SqlType:
    """Return the type; ``NullType`` if SQLAlchemy has none, such as an interval.

    Args:
        name: the type in Spark's SQL.
    """
    parser = _Parser(name)
    try:
        return parser.type()
    except (IndexError, ValueError, TypeError):
        return s.NULLTYPE


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [next(filter(None, match.groups())) for match in _TOKEN.finditer(text.rstrip())]
        self._position = 0

    def type(self) -> SqlType:
        name = self._next().upper()
        if name == "ARRAY":
            (item,) = self._list("<", self.type, ">")
            return ARRAY(item)
        if name == "MAP":
            key, value = self._list("<", self.type, ">")
            return MAP(key, value)
        if name == "STRUCT":
            return STRUCT(self._list("<", self._field, ">"))
        make = _ATOMIC.get(name)
        arguments = self._list("(", lambda: int(self._next()), ")") if self._sees("(") else []
        return make(*arguments) if make is not None else s.NULLTYPE

    def _field(self) -> tuple[str, SqlType]:
        name = self._next()
        if self._sees(":"):
            self._next()
        return name[1:-1].replace("``", "`") if name.startswith("`") else name, self.type()

    def _list(self, opening: str, item: Callable[[], Item], closing: str) -> list[Item]:
        """The items of a list; what follows an item, such as NOT NULL, COLLATE or a comment, is no part of the type."""
        found: list[Item] = []
        self._expect(opening)
        while not self._sees(closing):
            found.append(item())
            while not self._sees(closing) and not self._sees(","):
                self._next()
            if self._sees(","):
                self._next()
        self._expect(closing)
        return found

    def _next(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def _sees(self, token: str) -> bool:
        return self._tokens[self._position : self._position + 1] == [token]

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ValueError(f"{token} is missing")
