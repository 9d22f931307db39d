"""Vertical output: one line per column, for rows that are too wide for a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from paimon_sql.shell.engine.rows import Column, Row, visible
from paimon_sql.shell.formats.base import Format


class Vertical(Format):
    """A heading a row, below it one line a column with the whole value."""

    name = "vertical"
    summary = "one line per column, with complete values"
    limited = True

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        self._names = [visible(column.name) for column in columns]
        self._width = max(map(cell_len, self._names))
        self._count = 0

    def write(self, rows: Sequence[Row]) -> None:
        lines: list[str] = []
        for row in rows:
            self._count += 1
            lines.append(f"-- row {self._count} --")
            for name, value in zip(self._names, row, strict=True):
                padding = " " * (self._width - cell_len(name))
                lines.append(f"{name}{padding} | {'NULL' if value is None else visible(value)}")
        self.emit("\n".join(lines) + "\n")
