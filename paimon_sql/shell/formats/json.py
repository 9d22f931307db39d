"""JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from paimon_sql.shell.engine.rows import Encoding, Row
from paimon_sql.shell.formats.base import Format


class JsonLines(Format):
    """One object a row, made by Spark: numbers with all their digits, times as ISO 8601, binary as base64."""

    name = "json"
    summary = "one JSON object per line, with numbers, nulls and nested values"
    encoding: ClassVar[Encoding] = "json"

    def write(self, rows: Sequence[Row]) -> None:
        self.emit("".join(f"{row[0]}\n" for row in rows))
