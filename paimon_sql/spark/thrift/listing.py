"""Listing of a session's Paimon catalogs by JDBC's name patterns: several threads read, without Spark.

A table that cannot be read must not hide the others: it is listed with only its name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import NotFoundError, PaimonError, UnsupportedError
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.sql.text.names import Wildcard, wildcard_pattern
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import catalog_tables, scanned_tables, system_tables, table_views

TABLE, VIEW, SYSTEM_TABLE = "TABLE", "VIEW", "SYSTEM TABLE"
_SEPARATOR = "$"
_THREADS = 8
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Relation:
    """A table, view or system table.

    Attributes:
        kind: TABLE, VIEW or SYSTEM TABLE.
        primary_keys: the columns of its key in their order; system tables have none.
    """

    catalog: str
    database: str
    name: str
    kind: str
    comment: str = ""
    fields: tuple[DataField, ...] = ()
    primary_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """The listing of a session's Paimon catalogs for metadata calls.

    Attributes:
        catalogs: the catalogs by name.
    """

    catalogs: Mapping[str, Catalog]

    def databases(self, catalog: str | None, pattern: NamePattern) -> list[tuple[str, str]]:
        """The catalog and name of each matching database.

        The database ``sys`` with the catalog's system tables matches only its exact name.

        Args:
            catalog: the catalog; None or empty for all.
            pattern: the pattern of names.
        """
        return [(chosen.name, database) for chosen in self._chosen(catalog) for database in _databases(chosen, pattern)]

    def relations(
        self, catalog: str | None, database: NamePattern, name: NamePattern, kinds: frozenset[str]
    ) -> list[Relation]:
        """The matching tables, views and system tables.

        Args:
            catalog: the catalog; None or empty for all.
            database: the pattern of databases.
            name: the pattern of tables.
            kinds: the kinds to list.
        """
        steps: list[Callable[[], list[Relation]]] = []
        for chosen in self._chosen(catalog):
            for found in _databases(chosen, database, with_system=SYSTEM_TABLE in kinds and database.is_all):
                steps += _steps(chosen, found, name, kinds)
        return [relation for result in map_in_threads(lambda step: step(), steps, _THREADS) for relation in result]

    def primary_keys(self, catalog: str | None, database: str | None, table: str) -> list[Relation]:
        """The tables of that exact name in the matching catalogs."""
        found = []
        for chosen in self._chosen(catalog):
            for name in [database] if database else _databases(chosen, NamePattern(None)):
                found += _open(chosen, Identifier(name, table))
        return found

    def _chosen(self, catalog: str | None) -> list[Catalog]:
        return [found for name, found in sorted(self.catalogs.items()) if not catalog or name == catalog]


def _databases(catalog: Catalog, pattern: NamePattern, *, with_system: bool = False) -> list[str]:
    found = [name for name in catalog.list_databases() if name != SYSTEM_DATABASE and pattern.matches(name)]
    if with_system or (pattern.name or "").lower() == SYSTEM_DATABASE:
        found.append(SYSTEM_DATABASE)
    return found


def _steps(
    catalog: Catalog, database: str, name: NamePattern, kinds: frozenset[str]
) -> Iterator[Callable[[], list[Relation]]]:
    """The reads for one database, as small independent steps."""
    if database == SYSTEM_DATABASE:
        if SYSTEM_TABLE in kinds:
            yield lambda: _of_catalog(catalog, name)
        return
    before = name.prefix(_SEPARATOR)
    try:
        tables = catalog.list_tables(database) if kinds & {TABLE, SYSTEM_TABLE} else []
        views = catalog.list_views(database) if VIEW in kinds and HAS_VIEWS else []
    except NotFoundError:
        return  # dropped concurrently
    for table in tables:
        is_listed = TABLE in kinds and name.matches(table)
        if is_listed or (SYSTEM_TABLE in kinds and (before is None or before.matches(table))):
            yield partial(_with_system_tables, catalog, Identifier(database, table), name, kinds, is_listed=is_listed)
    for view in views:
        if name.matches(view):
            yield partial(_view, catalog, Identifier(database, view))


def _with_system_tables(
    catalog: Catalog, identifier: Identifier, name: NamePattern, kinds: frozenset[str], *, is_listed: bool
) -> list[Relation]:
    try:
        table = catalog.any_table(identifier)
    except NotFoundError:
        return []
    except (PaimonError, OSError) as error:
        _LOG.warning("%s.%s cannot be read: %s", catalog.name, identifier, error)
        return [Relation(catalog.name, identifier.database, identifier.table, TABLE)] if is_listed else []
    found = [_table(catalog, identifier, table)] if is_listed else []
    if SYSTEM_TABLE in kinds and isinstance(table, Table):
        shown = {f"{identifier.table}{_SEPARATOR}{n}": f for n, f in _system_fields(table).items()}
        found += [
            Relation(catalog.name, identifier.database, full, SYSTEM_TABLE, fields=fields)
            for full, fields in shown.items()
            if name.matches(full)
        ]
    return found


def _system_fields(table: Table) -> dict[str, tuple[DataField, ...]]:
    fields = {name: tuple(known.columns) for name, known in system_tables().items()}
    for name, kind in scanned_tables().items():
        with suppress(UnsupportedError):  # the table does not support that system table
            fields[name] = tuple(kind.fields(table))
    fields |= dict.fromkeys(table_views(), table.schema.fields)
    return dict(sorted(fields.items()))


def _of_catalog(catalog: Catalog, name: NamePattern) -> list[Relation]:
    return [
        Relation(catalog.name, SYSTEM_DATABASE, known, SYSTEM_TABLE, kind.summary, kind.columns)
        for known, kind in catalog_tables().items()
        if name.matches(known) and kind.exists_in(catalog)
    ]


def _open(catalog: Catalog, identifier: Identifier) -> list[Relation]:
    try:
        return [_table(catalog, identifier, catalog.authorized_table(identifier))]
    except PaimonError:
        return []


def _table(catalog: Catalog, identifier: Identifier, table: AnyTable) -> Relation:
    schema = table.schema
    names = (catalog.name, identifier.database, identifier.table, TABLE)
    return Relation(*names, schema.comment or "", schema.fields, schema.primary_keys)


def _view(catalog: Catalog, identifier: Identifier) -> list[Relation]:
    names = (catalog.name, identifier.database, identifier.table, VIEW)
    try:
        view = catalog.view(identifier)
    except NotFoundError:
        return []
    except (PaimonError, OSError) as error:
        _LOG.warning("%s.%s cannot be read: %s", catalog.name, identifier, error)
        return [Relation(*names)]
    return [Relation(*names, view.comment or "", tuple(view.fields))]


_PART = re.compile(r"\\(.)|(%)|(_)|(.)", re.DOTALL)


class NamePattern:
    """A pattern of names: ``%`` matches any characters, ``_`` one character, ``\\%`` a percent sign.

    Matching ignores case, as in Spark's ``SHOW TABLES LIKE``.

    Args:
        text: the pattern; None, or as in Spark an empty string, matches all names.
    """

    def __init__(self, text: str | None) -> None:
        self.text = text or "%"

    @property
    def is_all(self) -> bool:
        """Whether the pattern consists only of ``%``."""
        return set(self.text) == {"%"}

    @cached_property
    def name(self) -> str | None:
        """The only name that matches; None if the pattern has a wildcard."""
        parts = list(_PART.finditer(self.text))
        return None if any(p[2] or p[3] for p in parts) else "".join(p[1] or p[4] for p in parts)

    def matches(self, name: str) -> bool:
        """Whether a name matches."""
        return self._expression.fullmatch(name) is not None

    def prefix(self, sign: str) -> NamePattern | None:
        """The pattern before the first ``sign``; None if the pattern does not contain it."""
        head, found, _ = self.text.partition(sign)
        return NamePattern(head) if found else None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return wildcard_pattern(
            Wildcard.ANY if part[2] else Wildcard.ONE if part[3] else part[1] or part[4]
            for part in _PART.finditer(self.text)
        )
