"""Base class of output formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.console import Console

from paimon_sql.shell.engine.rows import Column, Encoding, Row


class Format(ABC):
    """Writer of one result: `begin` once, `write` for each batch of rows, `end` once.

    Attributes:
        name: its name for ``--format``.
        summary: its purpose, in a few words.
        encoding: the encoding of its rows.
        limited: whether the row limit applies, as in formats for people.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    encoding: ClassVar[Encoding] = "text"
    limited: ClassVar[bool] = False

    def __init__(self, console: Console, *, header: bool = True) -> None:
        self.console = console
        self.header = header

    def begin(self, columns: Sequence[Column]) -> None:
        """Begin a result with these columns."""
        self.columns = columns

    @abstractmethod
    def write(self, rows: Sequence[Row]) -> None:
        """Write the next rows, at least one."""

    def end(self) -> None:  # noqa: B027 - most formats have nothing left to write
        """End the result."""

    def emit(self, text: str) -> None:
        """Write raw text, without colors and widths of a terminal."""
        self.console.file.write(text)


class LineFormat(Format):
    """A format with one line per row, after a line of the column names."""

    def begin(self, columns: Sequence[Column]) -> None:
        super().begin(columns)
        if self.header:
            self.emit(self.line(column.name for column in columns))

    def write(self, rows: Sequence[Row]) -> None:
        self.emit("".join(map(self.line, rows)))

    @abstractmethod
    def line(self, values: Iterable[str | None]) -> str:
        """The line of a row."""
