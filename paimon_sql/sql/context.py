"""What the rewrite must know of the session: where unqualified names lead, and which catalogs are Paimon's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError

TableName = tuple[str, ...]
"""A table's full name: its catalog first, then the database, then the table."""

SESSION_CATALOG = "spark_catalog"
"""The name of Spark's own catalog."""


def no_keys(table: TableName) -> tuple[str, ...]:
    """The partition columns of a table of which nothing is known."""
    return ()


def holds_no_files(table: TableName) -> bool:
    """Whether a table of which nothing is known is a folder of plain files."""
    return False


def is_never_ordinary(table: TableName) -> bool:
    """Whether a table of which nothing is known is none of Paimon's."""
    return False


def merges_nothing(table: TableName) -> bool:
    """Whether a table of which nothing is known takes new columns."""
    return False


def orders_as_it_is(table: TableName) -> tuple[str, ...]:
    """The columns in the order of Hive of a table of which nothing is known."""
    return ()


def names_nothing(query: str) -> tuple[str, ...]:
    """What a context without a session knows of a query's columns."""
    return ()


def knows_no_function(function: TableName) -> bool:
    """Whether a catalog of which nothing is known has a function."""
    return False


def knows_no_blobs(catalog: str, table: str, column: str) -> tuple[str, int]:
    """The column of blobs of a table of which nothing is known."""
    raise InvalidInputError(f"Catalog {catalog} has no table {table}.")


@dataclass(frozen=True)
class RewriteContext:
    """The session that a statement is run in.

    Attributes:
        current_catalog: the catalog of names that do not begin with one.
        current_database: the database of names that consist of a table alone.
        catalogs: the names of the Paimon catalogs.
        other_catalogs: the names of all other catalogs, so that ``other.t`` is not taken for a database's table.
        shared_catalogs: the names of those Paimon catalogs that hold other things too.
        default_provider: what a table of a shared catalog is made of that says no USING.
        is_ordinary: tells whether a name of a shared catalog is not that of a table of Paimon's.
        partition_keys: tells the partition columns of a Paimon table; none where there is no such table.
        is_files: tells whether a Paimon table is a folder of plain files.
        merges_schema: tells whether the session lets writes bring new columns into a Paimon table.
        hive_columns: tells the columns of a Paimon table whose dynamic partition columns INSERT is to take last, as
            Hive does; none where it is not.
        query_columns: tells the names of a query's columns in lower case; none where it has an error.
        has_function: tells whether a Paimon catalog keeps a function of that full name.
        blob_column: tells of a catalog's table and one of its columns of blobs the name ``db.t`` and the column's id.
    """

    current_catalog: str
    current_database: str
    catalogs: frozenset[str]
    other_catalogs: frozenset[str] = frozenset({SESSION_CATALOG})
    shared_catalogs: frozenset[str] = frozenset()
    default_provider: str = ""
    is_ordinary: Callable[[TableName], bool] = is_never_ordinary
    partition_keys: Callable[[TableName], tuple[str, ...]] = no_keys
    is_files: Callable[[TableName], bool] = holds_no_files
    merges_schema: Callable[[TableName], bool] = merges_nothing
    hive_columns: Callable[[TableName], tuple[str, ...]] = orders_as_it_is
    query_columns: Callable[[str], tuple[str, ...]] = names_nothing
    has_function: Callable[[TableName], bool] = knows_no_function
    blob_column: Callable[[str, str, str], tuple[str, int]] = knows_no_blobs

    def full_name(self, parts: tuple[str, ...]) -> TableName:
        """The full name of a table named so, as Spark resolves it."""
        if len(parts) == 1:
            return (self.current_catalog, self.current_database, *parts)
        if parts[0].lower() in self.shared_catalogs:
            return (parts[0].lower(), *parts[1:])  # the only name of a catalog that Spark takes in any case
        if parts[0] in self.catalogs or parts[0] in self.other_catalogs or len(parts) > 2:
            return parts
        return (self.current_catalog, *parts)

    def table(self, parts: tuple[str, ...] | None) -> TableName | None:
        """The full name of a table named so; None where it is none of a Paimon catalog's, or without a name."""
        full = self.to_be(parts)
        return None if full and full[0] in self.shared_catalogs and self.is_ordinary(full) else full

    def to_be(self, parts: tuple[str, ...] | None) -> TableName | None:
        """The full name of a table that need not be there yet; None where its catalog is not a Paimon one."""
        full = self.full_name(parts) if parts else None
        return full if full and full[0] in self.catalogs else None

    def function(self, parts: tuple[str, ...] | None) -> TableName | None:
        """The full name of a function that a Paimon catalog keeps or may keep; shared ones leave that to Spark."""
        full = self.to_be(parts)
        return None if full and full[0] in self.shared_catalogs and full[1].lower() != "sys" else full

    @property
    def host(self) -> str | None:
        """A Paimon catalog for a statement that names no table: the current one, or the first by name."""
        return self.current_catalog if self.current_catalog in self.catalogs else min(self.catalogs, default=None)
