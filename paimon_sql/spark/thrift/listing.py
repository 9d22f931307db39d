"""What the Paimon catalogs of a session hold, found without Spark: schemas are read from their files, some at once.

What cannot be read must not hide the rest: it is listed with its name alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import NotFoundError, PaimonError, UnsupportedError
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.thrift.patterns import NamePattern
from paimon_sql.storage.execution.threads import spread
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
    """The Paimon catalogs of a session, as metadata calls see them.

    Attributes:
        catalogs: the catalogs by name.
    """

    catalogs: Mapping[str, Catalog]

    def databases(self, catalog: str | None, pattern: NamePattern) -> list[tuple[str, str]]:
        """Catalog and name of each database that is asked for.

        The database ``sys``, in which every catalog shows what is about itself, is found by its full name only.

        Args:
            catalog: the one catalog that is looked at; None or nothing for all.
            pattern: the names.
        """
        return [(chosen.name, database) for chosen in self._chosen(catalog) for database in _databases(chosen, pattern)]

    def relations(
        self, catalog: str | None, database: NamePattern, name: NamePattern, kinds: frozenset[str]
    ) -> list[Relation]:
        """The tables, views and system tables that are asked for.

        Args:
            catalog: the one catalog that is looked at; None or nothing for all.
            database: the names of databases.
            name: the names of tables.
            kinds: of which kinds they may be.
        """
        asked: list[Callable[[], list[Relation]]] = []
        for chosen in self._chosen(catalog):
            for found in _databases(chosen, database, with_system=SYSTEM_TABLE in kinds and database.is_all):
                asked += _questions(chosen, found, name, kinds)
        return [relation for answers in spread(lambda ask: ask(), asked, _THREADS) for relation in answers]

    def primary_keys(self, catalog: str | None, database: str | None, table: str) -> list[Relation]:
        """The table of that exact name in each catalog, or none."""
        found = []
        for chosen in self._chosen(catalog):
            for name in [database] if database else _databases(chosen, NamePattern(None)):
                found += _opened(chosen, Identifier(name, table))
        return found

    def _chosen(self, catalog: str | None) -> list[Catalog]:
        return [found for name, found in sorted(self.catalogs.items()) if not catalog or name == catalog]


def _databases(catalog: Catalog, pattern: NamePattern, *, with_system: bool = False) -> list[str]:
    found = [name for name in catalog.list_databases() if name != SYSTEM_DATABASE and pattern.matches(name)]
    if with_system or (pattern.name or "").lower() == SYSTEM_DATABASE:
        found.append(SYSTEM_DATABASE)
    return found


def _questions(
    catalog: Catalog, database: str, name: NamePattern, kinds: frozenset[str]
) -> Iterator[Callable[[], list[Relation]]]:
    """What is to be read for one database, in small steps that do not depend on each other."""
    if database == SYSTEM_DATABASE:
        if SYSTEM_TABLE in kinds:
            yield lambda: _of_catalog(catalog, name)
        return
    before = name.before(_SEPARATOR)
    try:
        tables = catalog.list_tables(database) if kinds & {TABLE, SYSTEM_TABLE} else []
        views = catalog.list_views(database) if VIEW in kinds and HAS_VIEWS else []
    except NotFoundError:
        return  # it was dropped meanwhile
    for table in tables:
        plain = TABLE in kinds and name.matches(table)
        if plain or (SYSTEM_TABLE in kinds and (before is None or before.matches(table))):
            yield partial(_with_system_tables, catalog, Identifier(database, table), name, kinds, plain=plain)
    for view in views:
        if name.matches(view):
            yield partial(_view, catalog, Identifier(database, view))


def _with_system_tables(
    catalog: Catalog, identifier: Identifier, name: NamePattern, kinds: frozenset[str], *, plain: bool
) -> list[Relation]:
    try:
        table = catalog.any_table(identifier)
    except NotFoundError:
        return []
    except (PaimonError, OSError) as error:
        _LOG.warning("%s.%s cannot be read: %s", catalog.name, identifier, error)
        return [Relation(catalog.name, identifier.database, identifier.table, TABLE)] if plain else []
    found = [_table(catalog, identifier, table)] if plain else []
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
        with suppress(UnsupportedError):  # the table has none of that kind
            fields[name] = tuple(kind.fields(table))
    fields |= dict.fromkeys(table_views(), table.schema.fields)
    return dict(sorted(fields.items()))


def _of_catalog(catalog: Catalog, name: NamePattern) -> list[Relation]:
    return [
        Relation(catalog.name, SYSTEM_DATABASE, known, SYSTEM_TABLE, kind.summary, kind.columns)
        for known, kind in catalog_tables().items()
        if name.matches(known) and kind.exists_in(catalog)
    ]


def _opened(catalog: Catalog, identifier: Identifier) -> list[Relation]:
    try:
        return [_table(catalog, identifier, catalog.authorized_table(identifier))]
    except PaimonError:
        return []


def _table(catalog: Catalog, identifier: Identifier, table: AnyTable) -> Relation:
    schema = table.schema
    own = (catalog.name, identifier.database, identifier.table, TABLE)
    return Relation(*own, schema.comment or "", schema.fields, schema.primary_keys)


def _view(catalog: Catalog, identifier: Identifier) -> list[Relation]:
    own = (catalog.name, identifier.database, identifier.table, VIEW)
    try:
        view = catalog.view(identifier)
    except NotFoundError:
        return []
    except (PaimonError, OSError) as error:
        _LOG.warning("%s.%s cannot be read: %s", catalog.name, identifier, error)
        return [Relation(*own)]
    return [Relation(*own, view.comment or "", tuple(view.fields))]
