"""Base classes of system tables: of records, of data, of another state of a table, of a whole catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.discovery import name_of
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import Record, column, columns_of, to_arrow
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.formatting import one_chunk

S = TypeVar("S")


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


class ComputedTable(NamedTable, Generic[S]):
    """A system table with the same columns for all tables, whose rows are computed from its source.

    A class defines `rows`; one that neither builds columns nor needs fewer rows for a predicate is a `RecordTable`.

    Class attributes:
        Row: a record of its columns (see `format.schema.records`), nullable as their annotations say.
        columns: the columns of ``Row``.
    """

    Row: ClassVar[type]
    columns: ClassVar[tuple[DataField, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Row" in vars(cls):
            cls.columns = columns_of(cls.Row)

    @abstractmethod
    def rows(self, source: S, /, predicate: Predicate | None = None) -> pa.Table:
        """The rows, with all columns.

        Args:
            source: what they are computed from.
            predicate: a condition on this table's columns, which may be used to produce fewer rows; the caller
                evaluates it again.
        """

    def of_records(self, records: Iterable[object]) -> pa.Table:
        """The rows of instances of ``Row``."""
        return to_arrow(self.columns, records)

    def row(self, source: object, **given: object) -> object:
        """An instance of ``Row``, with the values of the columns not given from attributes of their names."""
        found = {f.name: getattr(source, f.name) for f in self.columns if f.name not in given}
        return self.Row(**found, **given)

    def of_arrays(self, arrays: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
        """The rows of an array per column, cast to its type."""
        schema = arrow_schema(self.columns)
        return pa.Table.from_arrays([one_chunk(arrays[f.name]).cast(f.type) for f in schema], schema=schema)


class RecordTable(ComputedTable[S]):
    """A computed table that lists its rows as records."""

    @abstractmethod
    def records(self, source: S, /) -> Iterable[object]:
        """The rows as instances of ``Row``; argument as in `rows`."""

    def rows(self, source: S, /, predicate: Predicate | None = None) -> pa.Table:
        return self.of_records(self.records(source))


class SystemTable(ComputedTable[Table]):
    """A table ``t$name`` whose rows are computed from the metadata of ``t``.

    Their source is the data table with its newest schema and the options of the read, including time travel.
    """

    def selected(self, table: Table, names: Sequence[str], predicate: Predicate | None = None) -> pa.Table:
        """The rows with some columns, in this order; tables with expensive columns compute no others.

        Args:
            table: the source.
            names: the columns.
            predicate: as in `rows`.
        """
        return self.rows(table, predicate).select(list(names))

    def estimated_rows(self, table: Table) -> int:
        """The approximate number of rows, from little metadata; 0 for tables that never have very many."""
        return 0


class RowsTask(Protocol):
    """A task for a share of the rows, pickled to a worker."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""


class ScannedTable(NamedTable):
    """A table ``t$name`` whose rows are those of ``t`` in another form."""

    @abstractmethod
    def fields(self, table: Table) -> tuple[DataField, ...]:
        """The columns."""

    @abstractmethod
    def task(self, table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> RowsTask:
        """The task that reads a split.

        Args:
            table: the data table, with the options of the read.
            split: the split.
            names: the columns to read, in this order.
            predicate: a condition on the columns of `shared`; the task may leave out rows that do not match.
        """

    def shared(self, table: Table) -> tuple[DataField, ...]:
        """The columns with the values of the data table, on which predicates can be pushed down."""
        return ()


class TableView(NamedTable):
    """A table ``t$name`` that is read like ``t``, but sees other rows."""

    @abstractmethod
    def of(self, table: Table) -> Table:
        """The table to read in place of the data table."""


class ProcedureInfo(Record):
    """A procedure of a catalog."""

    name: str = column("the procedure, called as CALL sys.name(..)")
    arguments: str = column("its arguments in their order, with their types")
    results: str = column("the columns of its result, with their types")
    summary: str = column("what it does")
    example: str = column("an example call")


@dataclass(frozen=True)
class View:
    """The input of a catalog-wide table.

    Attributes:
        catalog: the catalog.
        procedures: the procedures in its ``sys``.
    """

    catalog: Catalog
    procedures: Sequence[ProcedureInfo] = field(default_factory=tuple)


class CatalogTable(ComputedTable[View]):
    """A table ``sys.name``; the source of its rows is the catalog with its procedures.

    Class attributes:
        is_listed: whether `SHOW TABLES IN sys` lists it: the tables that every Paimon engine has.
    """

    is_listed: ClassVar[bool] = False

    def exists_in(self, catalog: Catalog) -> bool:
        """Whether the catalog has this table."""
        return True
