"""Base classes of system tables: what all declare, those whose rows are records, and those about one table."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import pyarrow as pa

from paimon_sql.discovery import name_of
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import columns_of, to_arrow
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.formatting import one_chunk


class NamedTable(ABC):
    """A system table.

    Class attributes:
        name: the name after ``$`` or in ``sys``; by default the class's in snake case.
        summary: its rows; one sentence.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = name_of(cls)


class RecordTable(NamedTable):
    """A system table with the same columns for all tables.

    Class attributes:
        Row: a dataclass of its columns (see `format.schema.records`), nullable as their annotations say.
        columns: the columns of ``Row``.
    """

    Row: ClassVar[type]
    columns: ClassVar[tuple[DataField, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Row" in vars(cls):
            cls.columns = columns_of(cls.Row)

    def of_records(self, records: Iterable[object]) -> pa.Table:
        """The rows of instances of ``Row``."""
        return to_arrow(self.columns, records)

    def of_arrays(self, arrays: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
        """The rows of an array per column, cast to its type."""
        schema = arrow_schema(self.columns)
        return pa.Table.from_arrays([one_chunk(arrays[f.name]).cast(f.type) for f in schema], schema=schema)


class SystemTable(RecordTable):
    """A table ``t$name`` whose rows are computed from the metadata of ``t``.

    A class defines `records`, or `rows` if it builds columns or needs fewer rows for a predicate.
    """

    def records(self, table: Table) -> Iterable[object]:
        """The rows as instances of ``Row``; argument as in `rows`."""
        raise NotImplementedError

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        """The rows, with all columns.

        Args:
            table: the data table with its newest schema and the options of the read, including time travel.
            predicate: a condition on this table's columns, which may be used to produce fewer rows; the caller
                evaluates it again.
        """
        return self.of_records(self.records(table))

    def selected(self, table: Table, names: Sequence[str], predicate: Predicate | None = None) -> pa.Table:
        """The rows with some columns, in this order; tables with expensive columns compute no others.

        Args:
            table: as in `rows`.
            names: the columns.
            predicate: as in `rows`.
        """
        return self.rows(table, predicate).select(list(names))
