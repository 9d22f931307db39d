"""Comma-separated values (RFC 4180)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from paimon_sql.shell.formats.base import LineFormat

_SPECIAL = re.compile(r'[",\r\n]|^\s|\s$')


class Csv(LineFormat):
    """One line a row; null is nothing at all, an empty text is ``""``."""

    name = "csv"
    summary = "comma-separated; null is empty, an empty string is quoted"

    def line(self, values: Iterable[str | None]) -> str:
        return ",".join(map(_field, values)) + "\n"


def _field(value: str | None) -> str:
    if value is None:
        return ""
    if not value or _SPECIAL.search(value):
        return '"' + value.replace('"', '""') + '"'
    return value
