"""Results of statements: columns, rows that Spark converts to text, and their values as printed cells."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.text import Text

from paimon_sql.shell.engine.stream import stream_rows
from paimon_sql.sql.text.secrets import without_secrets

Encoding = Literal["text", "json"]
Row = tuple[str | None, ...]

BATCH = 1000
"""Number of rows per `Result.fetch`."""

_FEW_BYTES = 4 * 1024 * 1024
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_JSON_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_TEXT_TIMES = {"timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS", "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}


@dataclass(frozen=True)
class Column:
    """A column of a result; ``type`` is its SQL type, such as ``decimal(10,2)``."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """Whether values are numbers, and aligned right."""
        return self.type.partition("(")[0] in _NUMBERS


class Result:
    """A result: columns (empty for a statement without rows to show) and rows.

    Rows have one string per column, None for null, in encoding ``text``, and one JSON object in encoding ``json``.
    """

    def __init__(self, columns: tuple[Column, ...], rows: Iterator[Row]) -> None:
        self.columns = columns
        self._rows = rows

    def fetch(self) -> list[Row]:
        """The next rows, up to `BATCH`; empty at the end."""
        return list(islice(self._rows, BATCH))

    def close(self) -> None:
        """Discard the remaining rows."""
        if isinstance(self._rows, Generator):
            self._rows.close()
        self._rows = iter(())


def execute(session: SparkSession, statement: str, encoding: Encoding, limit: int | None) -> Result:
    """Run a statement and open its result.

    Args:
        session: the session.
        statement: the statement.
        encoding: the encoding of rows.
        limit: max number of rows; one more is read, to find out whether there are more. Without a limit, rows stream
            from Spark as they are fetched, unless they are estimated to be few.
    """
    # With interrupted task threads, Python workers and long scans end at once when jobs are cancelled.
    session.sparkContext.setJobGroup(
        "paimon-sql", " ".join(without_secrets(statement).split())[:200], interruptOnCancel=True
    )
    frame = session.sql(statement)
    columns = tuple(Column(field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    if not columns:
        return Result((), iter(()))
    shown = _encode(frame, columns, encoding)
    if limit is not None:
        return Result(columns, iter(shown.limit(limit + 1).collect()))
    # Streaming starts a Python worker per partition, which does not pay for a few rows.
    return Result(columns, iter(shown.collect()) if _estimated_size(shown) <= _FEW_BYTES else stream_rows(shown))


def _estimated_size(frame: DataFrame) -> int:
    """The size of the rows in bytes, as Spark's optimizer (over)estimates it."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _encode(frame: DataFrame, columns: tuple[Column, ...], encoding: Encoding) -> DataFrame:
    """Convert rows to text in Spark: its form of each type, in the session's time zone."""
    # Column names may repeat.
    numbered = frame.toDF(*(f"c{i}" for i in range(len(columns))))
    references = [F.col(f"c{i}") for i in range(len(columns))]
    if encoding == "text":
        return numbered.select(*(_text(ref, column.type) for ref, column in zip(references, columns, strict=True)))
    named = (ref.alias(column.name) for ref, column in zip(references, columns, strict=True))
    return numbered.select(F.to_json(F.struct(*named), {"ignoreNullFields": "false", **_JSON_TIMES}))


def _text(column: SparkColumn, type_name: str) -> SparkColumn:
    if type_name == "binary":
        return F.hex(column)
    if type_name.startswith(("geometry", "geography")):
        return F.hex(F.call_function("st_asbinary", column))
    if type_name.startswith(("struct<", "array<", "map<")):
        return F.to_json(column, {"ignoreNullFields": "false", **_TEXT_TIMES})
    return column.cast("string")


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
NULL = Text("NULL", style="dim")


def visible(value: str) -> str:
    r"""Escape every control character, as ``\n`` or ``\x1b``."""
    return _CONTROL.sub(_escaped, value)


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return _NAMED.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")


def cell(value: str | None, longest: int) -> Text:
    """Format a cell, truncated with ``…`` to ``longest`` characters."""
    if value is None:
        return NULL
    if len(value) > longest:
        value = value[: longest - 1] + "…"
    return Text(visible(value))
