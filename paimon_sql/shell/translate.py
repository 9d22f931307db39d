"""Files of statements in another spelling, or laid out anew; what stands between the statements stays."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.shell.splitter import split
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.translate import as_flink, as_spark, formatted

Translation = Callable[[str], str]
TRANSLATIONS: dict[str, Translation] = {"spark": as_spark, "flink": as_flink}
"""By the name of whose spelling it is."""
LAYOUT: Translation = formatted


class UntranslatedError(Exception):
    """A statement that cannot be translated: its text, the line where it begins, and in ``__cause__`` why."""

    def __init__(self, statement: str, line: int) -> None:
        super().__init__(statement)
        self.statement, self.line = statement, line


def translated(text: str, translation: Translation) -> str:
    """A text whose statements are translated one by one.

    Raises:
        UntranslatedError: one of them is malformed.
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
