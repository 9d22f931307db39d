"""HTML tables, for notebooks and mails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from paimon_sql.shell.engine.rows import Column, Row, visible
from paimon_sql.shell.formats.base import Format

_NUMBER = ' style="text-align: right"'
_TEXT = ' style="text-align: left"'
_NULL = '<span style="opacity: 0.5">NULL</span>'


class Html(Format):
    """A table element; numbers stand to the right, nothing in a value is taken for markup."""

    name = "html"
    summary = "an HTML table"
    limited = True

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        self._sides = [_NUMBER if column.is_number else _TEXT for column in columns]
        head = self._line("th", (column.name for column in columns))
        self.emit(f"<table>\n<thead>\n{head}</thead>\n<tbody>\n" if self.header else "<table>\n<tbody>\n")

    def write(self, rows: Sequence[Row]) -> None:
        self.emit("".join(self._line("td", row) for row in rows))

    def end(self) -> None:
        self.emit("</tbody>\n</table>\n")

    def _line(self, kind: str, values: Iterable[str | None]) -> str:
        cells = (_NULL if value is None else escape(visible(value)) for value in values)
        return "<tr>" + "".join(f"<{kind}{s}>{c}</{kind}>" for s, c in zip(self._sides, cells, strict=True)) + "</tr>\n"
