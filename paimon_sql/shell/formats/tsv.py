r"""Tab-separated values with backslash escapes, for Hive and PostgreSQL's COPY."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.shell.formats.base import LineFormat

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Tsv(LineFormat):
    r"""One line a row; null is ``\N``, and a backslash stands before what would break the line."""

    name = "tsv"
    summary = r"tab-separated; null is \N, tabs and line breaks are \t and \n"

    def line(self, values: Iterable[str | None]) -> str:
        return "\t".join("\\N" if value is None else value.translate(_ESCAPES) for value in values) + "\n"
