"""Scans: rows under a condition, as Arrow data or as what other libraries make of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_sql.api.columns import names_in
from paimon_sql.api.sources import Source
from paimon_sql.discovery import is_installed
from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.execution.threads import merged_in_threads
from paimon_sql.storage.expressions.condition_text import ConditionParser
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.table.table import Table

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Scan:
    """A read of some columns of the rows that satisfy a condition; each use of it reads the table anew.

    Made by `Table.scan` and `Table.changes`. Data files that cannot contain such rows are not read. Rows come in no
    particular order.

    Attributes:
        columns: the names of the columns, in the order of the result.
        limit: the max number of rows; None for all.
        threads: the number of threads that read; memory grows with it.
    """

    _source: Source = field(repr=False)
    columns: tuple[str, ...]
    _predicate: Predicate | None = None
    limit: int | None = None
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)

    @classmethod
    def of(cls, source: Source, where: str | None, columns: Sequence[str] | None, limit: int | None) -> Scan:
        """Return a scan by names and text; arguments and errors are those of `Table.scan`."""
        if limit is not None and limit < 0:
            raise InvalidInputError(f"A limit of {limit} rows is not possible.", remedy="It is 0 or more.")
        return cls(source, _names(source, columns), condition_of(source.table, where), limit)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema([self._source.fields[name] for name in self.columns])

    def where(self, condition: str) -> Scan:
        """Return the same scan under a further condition; see `Table.scan`."""
        return self._under(condition_of(self._source.table, condition))

    def _under(self, predicate: Predicate | None) -> Scan:
        return replace(self, _predicate=all_of([p for p in (self._predicate, predicate) if p is not None]))

    def select(self, *columns: str) -> Scan:
        """Return the same scan of other columns."""
        return replace(self, columns=_names(self._source, columns))

    def over(self, source: Source) -> Scan:
        """Return the same scan of another source with the same columns."""
        return replace(self, _source=source)

    def head(self, limit: int) -> Scan:
        """Return the same scan of at most so many rows."""
        return replace(self, limit=limit if self.limit is None else min(limit, self.limit))

    def to_reader(self) -> pa.RecordBatchReader:
        """Read the rows batch by batch.

        Raises:
            PaimonError: the table cannot be read; also later, from the reader.
        """
        tasks = self._source.tasks(self.columns, self._predicate, self.limit, self.threads)
        batches = (_with_schema(self.schema, b) for b in merged_in_threads([t.batches for t in tasks], self.threads))
        return pa.RecordBatchReader.from_batches(self.schema, _first(batches, self.limit))

    def to_arrow(self) -> pa.Table:
        """Read all rows into memory."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """Read all rows into a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.LazyFrame:
        """Return a lazy frame of Polars, which reads the columns and rows that its query needs when it is collected.

        >>> orders.scan().to_polars().select("amount").sum().collect().item()
        92.5
        """
        _require("polars")
        from paimon_sql.api.polars_source import lazy_frame

        return lazy_frame(self.schema, self._narrowed)

    def _narrowed(self, columns: Sequence[str], predicate: Predicate | None, limit: int | None) -> pa.RecordBatchReader:
        scan = self.select(*columns)._under(predicate)
        return (scan if limit is None else scan.head(limit)).to_reader()

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return a relation of DuckDB that reads this scan; name columns and condition in the scan.

        Args:
            connection: the connection; DuckDB's default one by default.

        >>> orders.scan().to_duckdb().aggregate("max(amount)").fetchall()
        [(80.0,)]
        """
        _require("duckdb")
        import duckdb

        return (connection or duckdb).from_arrow(self)

    def count(self) -> int:
        """Count the rows; by metadata alone if there is no condition, and nothing is merged."""
        known = None if self._predicate is not None else self._source.known_count()
        if known is None:
            known = sum(batch.num_rows for batch in replace(self, columns=self._source.counted).to_reader())
        return known if self.limit is None else min(known, self.limit)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows by Arrow's C interface, so that libraries such as DuckDB read the scan itself."""
        return self.to_reader().__arrow_c_stream__(requested_schema)


def _require(library: str) -> None:
    """Check that an optional library is installed.

    Raises:
        SetupError: it is not.
    """
    if not is_installed(library):
        raise SetupError(f"{library} is not installed.", remedy=f"pip install {library}")


def _first(batches: Batches, limit: int | None) -> Batches:
    left = limit
    for batch in batches if left != 0 else ():
        yield batch if left is None else batch.slice(0, left)
        if left is not None:
            left -= min(left, batch.num_rows)
            if not left:
                return


def _with_schema(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with exactly this schema: parts of a read differ in the nullability of columns."""
    return batch if batch.schema.equals(schema) else batch.cast(schema)


def _names(source: Source, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The names of columns as the source has them; those that it shows by default.

    Raises:
        InvalidInputError: there is no such column, or one is named twice.
    """
    shown = tuple(f.name for f in source.shown)
    return shown if columns is None else names_in(source.table, source.fields, shown, columns)


def condition_of(table: Table, condition: str | None) -> Predicate | None:
    """Return the predicate of a condition in SQL; None without one.

    Raises:
        InvalidInputError: it cannot be parsed, or names no column of the table.
    """
    return None if condition is None else ConditionParser(table.schema.fields).parse(condition)
