"""Results of statements: columns, and rows that Spark converts to text."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from paimon_sql.shell.engine.jobs import jobs_of
from paimon_sql.shell.engine.rows import Column, Encoding, Row
from paimon_sql.shell.engine.stream import stream_rows
from paimon_sql.spark.session.remote import is_remote

_FEW_BYTES = 4 * 1024 * 1024
BATCH = 1000
"""Number of rows per `Result.fetch`."""

_JSON_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_TEXT_TIMES = {"timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS", "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}


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
    jobs_of(session).label(statement)
    frame = session.sql(statement)
    columns = tuple(Column(field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    if not columns:
        return Result((), iter(()))
    shown = _encode(frame, columns, encoding)
    if limit is not None:
        return Result(columns, iter(shown.limit(limit + 1).collect()))
    return Result(columns, _stream(shown))


def _stream(frame: DataFrame) -> Iterator[Row]:
    """Yield all rows of a frame of strings, a bounded number in memory at a time."""
    if is_remote(frame.sparkSession):
        yield from frame.toLocalIterator()
        return
    # Streaming starts a Python worker per partition, which does not pay for a few rows. Spark's optimizer
    # (over)estimates the size.
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    yield from frame.collect() if size <= _FEW_BYTES else stream_rows(frame)


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
