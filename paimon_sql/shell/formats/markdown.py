"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_sql.shell.engine.result import Column, Row, visible
from paimon_sql.shell.formats.base import Format


class Markdown(Format):
    """A table of GitHub's Markdown."""

    name = "markdown"
    summary = "a Markdown table"
    limited = True

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        self.emit(_line(column.name for column in columns))
        self.emit("|" + "|".join(" ---: " if column.is_number else " --- " for column in columns) + "|\n")

    def write(self, rows: Sequence[Row]) -> None:
        self.emit("".join(map(_line, rows)))


def _line(values: Iterable[str | None]) -> str:
    cells = ("NULL" if value is None else visible(value.replace("\\", "\\\\").replace("|", "\\|")) for value in values)
    return "| " + " | ".join(cells) + " |\n"
