"""Reading of all tables of a catalog, with a predicate on their names, by several threads.

A table that cannot be read must not hide the others: its rows are missing, and the log has the reason. A read of that
table alone, as of ``t$snapshots``, raises its error.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import NotFoundError, PaimonError, WrongKindError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.records import Record, column, columns_of
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.system_tables.base import CatalogTable, SystemTable, View

_THREADS = 8
_READ_ERRORS = (PaimonError, OSError, pa.ArrowException)
_LOG = logging.getLogger(__name__)

R = TypeVar("R")


class OfTable(Record):
    """The first columns of a row about a table: its names."""

    database_name: str | None = column("the table's database")
    table_name: str | None = column("the table")


NAMES = DATABASE, TABLE = columns_of(OfTable)


def wanted_tables(catalog: Catalog, predicate: Predicate | None) -> list[Identifier]:
    """The tables whose names may match a predicate, sorted; databases that cannot match are not listed."""
    databases = pa.array([d for d in catalog.list_databases() if d != SYSTEM_DATABASE], pa.string())
    of_database = conjuncts_on(predicate, [DATABASE.name])
    if of_database is not None:
        databases = databases.filter(_holds(of_database, {DATABASE.name: databases}))
    listed = map_in_threads(lambda database: _tables_of(catalog, database), databases.to_pylist(), _THREADS)
    found = [Identifier(d, t) for d, tables in zip(databases.to_pylist(), listed, strict=True) for t in tables]
    of_names = conjuncts_on(predicate, [f.name for f in NAMES])
    if of_names is None or not found:
        return found
    names = {
        DATABASE.name: pa.array([i.database for i in found], pa.string()),
        TABLE.name: pa.array([i.table for i in found], pa.string()),
    }
    return [i for i, wanted in zip(found, _holds(of_names, names).to_pylist(), strict=True) if wanted]


def map_tables(
    catalog: Catalog, predicate: Predicate | None, function: Callable[[Identifier], R]
) -> list[tuple[Identifier, R | None]]:
    """Apply a function to the tables whose names may match a predicate; returns results sorted by name.

    The result is None for a table that cannot be read or is of another kind. Tables that are dropped concurrently are
    left out.

    Args:
        catalog: the catalog.
        predicate: a condition; only its parts about `NAMES` are used.
        function: opens the table.
    """

    def result(identifier: Identifier) -> tuple[bool, R | None]:
        try:
            return True, function(identifier)
        except WrongKindError:
            return True, None
        except _READ_ERRORS as error:
            exists = _exists(catalog, identifier)
            if exists:
                _LOG.warning("%s.%s cannot be read: %s", catalog.name, identifier, error)
            return exists, None

    wanted = wanted_tables(catalog, predicate)
    results = map_in_threads(result, wanted, _THREADS)
    return [(identifier, found) for identifier, (exists, found) in zip(wanted, results, strict=True) if exists]


class OfAllTables(CatalogTable):
    """The rows of a system table for the main branch of each table of a catalog, after the columns `NAMES`.

    Tables that cannot be read are omitted.
    """

    @property
    @abstractmethod
    def of_one(self) -> SystemTable:
        """The system table."""

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        own = conjuncts_on(predicate, [f.name for f in self.of_one.columns])
        answers = map_tables(view.catalog, predicate, lambda name: self.of_one.rows(view.catalog.table(name), own))
        return with_table_names(answers, self.of_one.columns)


def with_table_names(answers: Iterable[tuple[Identifier, pa.Table | None]], columns: Sequence[DataField]) -> pa.Table:
    """Concatenate the rows of tables, after the columns `NAMES`."""
    schema = arrow_schema((*NAMES, *columns))
    parts = [schema.empty_table()]
    for identifier, rows in answers:
        if rows is not None and len(rows):
            names = [pa.array([name] * len(rows), pa.string()) for name in (identifier.database, identifier.table)]
            parts.append(pa.table([*names, *rows.columns], names=schema.names).cast(schema))
    return pa.concat_tables(parts)


def _tables_of(catalog: Catalog, database: str) -> list[str]:
    try:
        return catalog.list_tables(database)
    except NotFoundError:
        return []


def _exists(catalog: Catalog, identifier: Identifier) -> bool:
    try:
        return catalog.table_exists(identifier)
    except _READ_ERRORS:
        return True


def _holds(predicate: Predicate, columns: dict[str, pa.Array]) -> pa.Array:
    return pc.fill_null(predicate.evaluate(columns), False)
