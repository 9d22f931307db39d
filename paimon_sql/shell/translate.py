"""Translation and formatting of files of statements; text between statements is unchanged."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.shell.pieces import split
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.translate import as_flink, as_spark, format_sql

Translation = Callable[[str], str]
TRANSLATIONS: dict[str, Translation] = {"spark": as_spark, "flink": as_flink}
"""Translations by the name of the target dialect."""
FORMAT: Translation = format_sql


class UntranslatedError(Exception):
    """A statement cannot be translated; ``line`` is where it begins, and ``__cause__`` the reason."""

    def __init__(self, statement: str, line: int) -> None:
        super().__init__(statement)
        self.statement, self.line = statement, line


def translated(text: str, translation: Translation) -> str:
    """Translate each statement of a text.

    Raises:
        UntranslatedError: a statement is malformed.
    """
    parts: list[str] = []
    position = 0
    for piece in split(text):
        start = text.index(piece.text, position)
        try:
            new = translation(piece.text) if piece.kind == "statement" else piece.text
        except SqlSyntaxError as error:
            raise UntranslatedError(piece.text, piece.line) from error
        parts += (text[position:start], new)
        position = start + len(piece.text)
    return "".join((*parts, text[position:]))
