"""Catalog of tables by path, for the data source ``paimon`` (Spark: ``TableCatalog``).

In Spark an identifier consists of strings only. The name of a table at a path is the path; options of a
``DataFrameReader`` or ``DataFrameWriter`` that determine the table's state or its creation are encoded as the database,
as in ``paimon_paths.`scan.snapshot-id=1`.`/warehouse/default.db/t```.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.paths import PathCatalog, PathIdentifier, identifier_at
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options import canonical
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.catalog.paimon_catalog import CatalogProxy, SessionCatalogs
from paimon_sql.spark.conversion.names import unquoted_parts
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.options.read import (
    CATALOG_OPTION,
    DATABASE_OPTION,
    STATE_KEYS,
    TABLE_OPTION,
    is_of_file_system,
    option,
)
from paimon_sql.spark.tables.placement import refuse_branches_and_system_tables
from paimon_sql.storage.file_io.paths import name_of, parent_of, scheme_of, without_scheme

PATHS = "paimon_paths"
"""The name of the catalog of paths in every session."""

_FILE_SYSTEM = "file-system"
_PATHS_OPTION = "paths"
_MOST_FILE_SYSTEMS = 1024
_SPARK_OPTIONS = frozenset(("path", _PATHS_OPTION, "versionasof", "timestampasof", "checkpointlocation", "queryname"))

T = TypeVar("T")


class PathNames:
    """Conversion of paths with options to Spark's identifiers, and back.

    Options of a file system contain secrets, and Spark shows identifiers: so they are stored here, and an identifier
    has only their key. The store is an LRU cache, since tokens may change with every read.
    """

    def __init__(self) -> None:
        self._file_systems: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._lock = threading.Lock()
        self._salt = os.urandom(16)

    def named(self, options: Mapping[str, str]) -> tuple[list[str], str]:
        """The namespace and name of the table that the options of a read or write mean.

        If the table does not exist, the namespace has all options, since they may be options of the table to create;
        otherwise only those that determine the table's state.

        Raises:
            InvalidInputError: the options have no path, or several.
        """
        path = _path_of(options)
        if option(options, CATALOG_OPTION) is not None:
            return _by_name(path, options)
        given = {k: v for k, v in options.items() if not k.lower().startswith("__") and k.lower() not in _SPARK_OPTIONS}
        file_system = {k: v for k, v in given.items() if is_of_file_system(k)}
        encoded = canonical({k: v for k, v in given.items() if k not in file_system})
        if identifier_at(path, file_system).schemas.ids():
            encoded = {k: v for k, v in encoded.items() if k in STATE_KEYS}
        if file_system:
            encoded[_FILE_SYSTEM] = self._remember(file_system)
        return [urlencode(sorted(encoded.items()), safe="/:,")] if encoded else [], path

    def identifier(self, namespace: Sequence[str], name: str) -> PathIdentifier:
        """The identifier of a table, from Spark's.

        Raises:
            InvalidInputError: its options of a file system are unknown.
        """
        key = _options(namespace).get(_FILE_SYSTEM)
        if key is None:
            return identifier_at(name, {})
        with self._lock:
            found = self._file_systems.get(key)
            if found is not None:
                self._file_systems.move_to_end(key)
        if found is None:
            raise InvalidInputError(
                f"The options '{key}' of the file system that holds {name} are not known any more.",
                remedy="Read or write it anew.",
            )
        return identifier_at(name, found)

    def _remember(self, options: dict[str, str]) -> str:
        # Without the salt, a short password could be found by brute force.
        text = repr(sorted(options.items())).encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(text, key=self._salt, digest_size=8).hexdigest()
        with self._lock:
            self._file_systems[key] = options
            self._file_systems.move_to_end(key)
            if len(self._file_systems) > _MOST_FILE_SYSTEMS:
                self._file_systems.popitem(last=False)
        return key


def options_in(namespace: Sequence[str]) -> dict[str, str]:
    """Paimon's options in the namespace of a path's identifier."""
    return {k: v for k, v in _options(namespace).items() if k != _FILE_SYSTEM}


def _options(namespace: Sequence[str]) -> dict[str, str]:
    return dict(parse_qsl("&".join(namespace), keep_blank_values=True))


def _path_of(options: Mapping[str, str]) -> str:
    if option(options, _PATHS_OPTION) is not None:
        raise InvalidInputError("The data source 'paimon' reads one path at a time.", remedy="Make a union of reads.")
    path = option(options, "path") or ""
    if not path.strip():
        raise InvalidInputError("The data source 'paimon' needs a path.", remedy="Say .load('<the table's folder>').")
    location = path if scheme_of(path) != "file" else without_scheme(path)[1]
    return absolute_warehouse(location).rstrip("/")


def _by_name(path: str, options: Mapping[str, str]) -> tuple[list[str], str]:
    """The namespace and name of a table in the options' catalog; the path supplies missing names."""
    database = option(options, DATABASE_OPTION) or name_of(parent_of(path)).removesuffix(".db")
    return [database], option(options, TABLE_OPTION) or name_of(path)


class PathCatalogProxy(CatalogProxy):
    """The catalog of paths in one session."""

    def __init__(self, jvm: Jvm, names: PathNames, session: Any, session_catalogs: SessionCatalogs) -> None:
        super().__init__(jvm, PathCatalog(PATHS), session, session_catalogs)
        self._names = names

    def dropTable(self, ident: Any) -> bool:
        raise UnsupportedError(f"{ident.name()} cannot be dropped by its path.", remedy="Delete its folder.")

    def listTables(self, namespace: Any) -> Any:
        return self.jvm.array(f"{CATALOG}.Identifier")

    def listProcedures(self, namespace: Any) -> Any:
        return self.jvm.array(f"{CATALOG}.Identifier")

    def loadProcedure(self, ident: Any) -> Any:
        raise UnsupportedError(
            f"Catalog {PATHS} has no procedures.", remedy="Call those of a catalog that has the table by its name."
        )

    def viewExists(self, ident: Any) -> bool:
        return False

    def _identifier(self, ident: Any) -> Identifier:
        *namespace, name = unquoted_parts(ident.toString())
        return self._names.identifier(namespace, name)

    def _name_parts(self, ident: Any, identifier: Identifier) -> tuple[str, ...]:
        return tuple(unquoted_parts(ident.toString()))

    def _name_options(self, ident: Any) -> dict[str, str]:
        return options_in(unquoted_parts(ident.toString())[:-1])

    def _placed(self, identifier: Identifier, schema: TableSchema) -> TableSchema:
        refuse_branches_and_system_tables(identifier, "created")
        options = {k: v for k, v in schema.options.items() if k != PATH.key}
        return replace(schema, options=options)

    def _or_no_table(self, ident: Any, action: Callable[[], T], context: tuple[Any, ...] = ()) -> T:
        # Our error about a missing table is more specific than Spark's message about the encoded name.
        return action()
