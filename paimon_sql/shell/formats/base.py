"""What an output format is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rich.console import Console

from paimon_sql.shell.engine.result import Column, Encoding, Row


class Format(ABC):
    """Writes one answer: `begin` once, `write` for each batch of rows, `end` once.

    Attributes:
        name: what ``--format`` calls it.
        summary: what it is good for, in a few words.
        encoding: what its rows are.
        limited: whether it is for eyes, so that the row limit applies.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    encoding: ClassVar[Encoding] = "text"
    limited: ClassVar[bool] = False

    def __init__(self, console: Console, *, header: bool = True) -> None:
        self.console = console
        self.header = header

    def begin(self, columns: Sequence[Column]) -> None:
        """The answer has these columns."""
        self.columns = columns

    @abstractmethod
    def write(self, rows: Sequence[Row]) -> None:
        """The next rows, never none."""

    def end(self) -> None:  # noqa: B027 - most formats have nothing left to write
        """There are no more rows."""

    def emit(self, text: str) -> None:
        """Put text out as it is, without the colours and widths of a terminal."""
        self.console.file.write(text)
