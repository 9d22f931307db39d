"""Tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from paimon_sql.shell.engine.rows import Column, Row, cell, visible
from paimon_sql.shell.formats.base import Format
from paimon_sql.shell.formats.vertical import Vertical

_MAX_LENGTH = 500
_MAX_LENGTH_IN_FILE = 10_000
_MIN_WIDTH = 8


class Table(Format):
    """A table with lines; on a terminal it keeps to its width, elsewhere it is as wide as it must be.

    Long values are folded on a terminal, and cut from 500 characters on, in a file or pipe from 10 000 on, as all rows
    are padded to the longest. Rows of more columns than the terminal has room for stand one column a line. One text of
    several lines, such as a plan, is shown as it is.
    """

    name = "table"
    summary = "an aligned table"
    limited = True

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        self._rows: list[Row] = []
        self._vertical: Vertical | None = None
        self._shown = False
        # Each column has a border and two blanks.
        if self.console.is_terminal and len(columns) * (_MIN_WIDTH + 3) > self.console.width:
            self._vertical = Vertical(self.console)
            self._vertical.begin(columns)

    def write(self, rows: Sequence[Row]) -> None:
        # One batch is held back: a multi-line value is shown raw only if it is the only row.
        if self._vertical is not None:
            self._vertical.write(rows)
            return
        if self._rows:
            self._show()
        self._rows = list(rows)

    def end(self) -> None:
        if self._vertical is not None:
            return
        if self._is_text():
            self.emit("".join(f"{visible(line)}\n" for line in str(self._rows[0][0]).strip("\n").split("\n")))
        elif self._rows or not self._shown:
            self._show()

    def _is_text(self) -> bool:
        return not self._shown and len(self.columns) == 1 and len(self._rows) == 1 and "\n" in (self._rows[0][0] or "")

    def _show(self) -> None:
        self._shown = True
        table = RichTable(box=box.ROUNDED, show_header=self.header)
        for column in self.columns:
            justify = "right" if column.is_number else "left"
            table.add_column(Text(visible(column.name)), justify=justify, overflow="fold")  # type: ignore[arg-type]
        max_length = _MAX_LENGTH if self.console.is_terminal else _MAX_LENGTH_IN_FILE
        for row in self._rows:
            table.add_row(*(cell(value, max_length) for value in row))
        # Write to the file directly, so that a closed pipe raises here and is not handled by the console.
        with self.console.capture() as rendered:
            self.console.print(table)
        self.emit(rendered.get())
        self._rows = []
