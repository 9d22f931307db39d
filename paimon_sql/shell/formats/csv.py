"""Comma-separated values (RFC 4180)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paimon_sql.shell.engine.result import Column, Row
from paimon_sql.shell.formats.base import Format

_SPECIAL = re.compile(r'[",\r\n]|^\s|\s$')


class Csv(Format):
    """One line a row; null is nothing at all, an empty text is ``""``."""

    name = "csv"
    summary = "comma-separated; null is empty, an empty text is quoted"

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        if self.header:
            self.emit(_line(column.name for column in columns))

    def write(self, rows: Sequence[Row]) -> None:
        self.emit("".join(map(_line, rows)))


def _line(values: Iterable[str | None]) -> str:
    return ",".join(map(_field, values)) + "\n"


def _field(value: str | None) -> str:
    if value is None:
        return ""
    if not value or _SPECIAL.search(value):
        return '"' + value.replace('"', '""') + '"'
    return value
