"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_sql.shell.engine.rows import Column, visible
from paimon_sql.shell.formats.base import LineFormat


class Markdown(LineFormat):
    """A table of GitHub's Markdown."""

    name = "markdown"
    summary = "a Markdown table"
    limited = True

    def begin(self, columns: Sequence[Column]) -> None:
        self.header = True  # there is no table without one
        super().begin(columns)
        self.emit("|" + "|".join(" ---: " if column.is_number else " --- " for column in columns) + "|\n")

    def line(self, values: Iterable[str | None]) -> str:
        cells = ("NULL" if v is None else visible(v.replace("\\", "\\\\").replace("|", "\\|")) for v in values)
        return "| " + " | ".join(cells) + " |\n"
