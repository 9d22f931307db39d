r"""Tab-separated values with backslash escapes, for Hive and PostgreSQL's COPY."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_sql.shell.engine.result import Column, Row
from paimon_sql.shell.formats.base import Format

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Tsv(Format):
    r"""One line a row; null is ``\N``, and a backslash stands before what would break the line."""

    name = "tsv"
    summary = r"tab-separated; null is \N, tabs and line breaks are \t and \n"

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        if self.header:
            self.emit(_line(column.name for column in columns))

    def write(self, rows: Sequence[Row]) -> None:
        self.emit("".join(map(_line, rows)))


def _line(values: Iterable[str | None]) -> str:
    return "\t".join("\\N" if value is None else value.translate(_ESCAPES) for value in values) + "\n"
