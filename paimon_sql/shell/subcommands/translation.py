"""``paimon-sql transpile`` and ``format``: translation of files of statements, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.pieces import Piece, split, text_of
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.translate import as_flink, as_spark, format_sql

_TRANSLATIONS = {"spark": as_spark, "flink": as_flink}
"""Translations by the name of the target dialect."""


class Translation:
    """Translates or formats the statements of files; text between statements is unchanged.

    Args:
        report: for notes and errors.
        target: the target dialect; None to format.
    """

    def __init__(self, report: Report, target: str | None) -> None:
        self._report = report
        self._translate = format_sql if target is None else _TRANSLATIONS[target]
        self._name = ""
        self._piece: Piece | None = None

    def run(self, names: Sequence[str], *, write: bool) -> None:
        """Translate all files before any is printed or written, so that an error changes none.

        Args:
            names: the files, ``-`` for standard input.
            write: whether to change the files instead of printing their translations.
        """
        done: list[tuple[str, str, str]] = []
        for self._name in names:
            text = (sys.stdin.read() if sys.stdin else "") if self._name == "-" else text_of(self._name)
            done.append((self._name, text, "".join(self._translated(text))))
        for name, text, new in done:
            if not write or name == "-":
                typer.echo(new, nl=not new.endswith("\n"))
            elif new != text:
                Path(name).expanduser().write_text(new, encoding="utf-8")
                self._report.note(f"{name} changed")

    def fail(self, error: Exception) -> None:
        """Report an error, with its place in the file."""
        if self._piece is None or not isinstance(error, SqlSyntaxError):
            self._report.error(error)
            return
        # It knows Spark's errors, too, and imports Spark.
        from paimon_sql.shell.engine.errors import describe

        text, line = self._piece.text, self._piece.line
        self._report.problem(describe(error, text), text, origin=self._name, line=line)

    def _translated(self, text: str) -> Iterator[str]:
        position = 0
        for piece in split(text):
            self._piece = piece
            start = text.index(piece.text, position)
            yield text[position:start]
            yield self._translate(piece.text) if piece.kind == "statement" else piece.text
            position = start + len(piece.text)
        yield text[position:]
