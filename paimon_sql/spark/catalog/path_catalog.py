"""Tables by path: their catalog, and the data source ``paimon`` for reads, writes and streams of DataFrames."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from paimon_sql.cache import Cache
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.paths import PathCatalog, PathIdentifier, identifier_at
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options import canonical
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.catalog.base import T, host_in
from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.conversion.references import unquoted_parts
from paimon_sql.spark.execution.carried_statement import SessionCatalogs
from paimon_sql.spark.java.connector import Ident, StringMap
from paimon_sql.spark.java.objects import Class, JavaObject
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, OPTIONS_MAP, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import (
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


class PathNames:
    """Conversion of paths with options to Spark's identifiers, and back.

    In Spark an identifier consists of strings only. The name of a table at a path is the path; options of a
    ``DataFrameReader`` or ``DataFrameWriter`` that determine the table's state or its creation are encoded as the
    database, as in ``paimon_paths.`scan.snapshot-id=1`.`/warehouse/default.db/t```.

    Options of a file system contain secrets, and Spark shows identifiers: so they are stored here, and an identifier
    has only their key. The store is an LRU cache, since tokens may change with every read.
    """

    def __init__(self) -> None:
        self._file_systems = Cache[str, dict[str, str]](_MOST_FILE_SYSTEMS)
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
        found = self._file_systems.get(key)
        if found is None:
            raise InvalidInputError(
                f"The options '{key}' of the file system of {name} are no longer known.",
                remedy="Read or write it again.",
            )
        return identifier_at(name, found)

    def _remember(self, options: dict[str, str]) -> str:
        # Without the salt, a short password could be found by brute force.
        text = repr(sorted(options.items())).encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(text, key=self._salt, digest_size=8).hexdigest()
        self._file_systems.put(key, options)
        return key


def _options(namespace: Sequence[str]) -> dict[str, str]:
    """The options in the namespace of a path's identifier."""
    return dict(parse_qsl("&".join(namespace), keep_blank_values=True))


def _path_of(options: Mapping[str, str]) -> str:
    if option(options, _PATHS_OPTION) is not None:
        raise InvalidInputError(
            "The data source 'paimon' reads one path at a time.", remedy="Combine several reads by a union."
        )
    path = option(options, "path") or ""
    if not path.strip():
        raise InvalidInputError("The data source 'paimon' needs a path.", remedy="Use .load('<table directory>').")
    location = path if scheme_of(path) != "file" else without_scheme(path)[1]
    return absolute_warehouse(location).rstrip("/")


def _by_name(path: str, options: Mapping[str, str]) -> tuple[list[str], str]:
    """The namespace and name of a table in the options' catalog; the path supplies missing names."""
    database = option(options, DATABASE_OPTION) or name_of(parent_of(path)).removesuffix(".db")
    return [database], option(options, TABLE_OPTION) or name_of(path)


class PathCatalogProxy(CatalogProxy):
    """The catalog of paths in one session."""

    def __init__(self, session: JvmSession, names: PathNames, session_catalogs: SessionCatalogs) -> None:
        super().__init__(session, PathCatalog(PATHS, host_in(session.jvm)), session_catalogs)
        self._names = names

    def dropTable(self, ident: Ident) -> bool:
        raise UnsupportedError(f"{ident.name()} cannot be dropped by its path.", remedy="Delete its directory.")

    def listTables(self, namespace: Sequence[str]) -> Sequence[Ident]:
        return self._idents(namespace, ())

    def listProcedures(self, namespace: Sequence[str]) -> Sequence[Ident]:
        return self._idents(namespace, ())

    def loadProcedure(self, ident: Ident) -> Proxy:
        raise UnsupportedError(
            f"Catalog {PATHS} has no procedures.", remedy="Call the procedures of a catalog that contains the table."
        )

    def viewExists(self, ident: Ident) -> bool:
        return False

    def _identifier(self, ident: Ident) -> Identifier:
        *namespace, name = unquoted_parts(ident.toString())
        return self._names.identifier(namespace, name)

    def _name_parts(self, ident: Ident, identifier: Identifier) -> tuple[str, ...]:
        return tuple(unquoted_parts(ident.toString()))

    def _name_options(self, ident: Ident) -> dict[str, str]:
        given = _options(unquoted_parts(ident.toString())[:-1])
        return {k: v for k, v in given.items() if k != _FILE_SYSTEM}

    def _placed(self, identifier: Identifier, schema: TableSchema) -> TableSchema:
        refuse_branches_and_system_tables(identifier, "created")
        return replace(schema, options={k: v for k, v in schema.options.items() if k != PATH.key})

    def _or_no_table(self, ident: Ident, action: Callable[[], T], context: tuple[object, ...] = ()) -> T:
        # Our error about a missing table is more specific than Spark's message about the encoded name.
        return action()


_CLASS = "paimon.DefaultSource"
_SOURCE = f"{CATALOG}.SupportsCatalogOptions"
_STRUCT = "org.apache.spark.sql.types.StructType"
_TRANSFORMS = f"{CONNECTOR}.expressions.Transform[]"
_ANSWERS = "answers"
_GONE = "The data source 'paimon' is not available: the Python process has ended or has not been set up."

_METHODS = (
    (f"{CATALOG}.Identifier", "extractIdentifier", f"{OPTIONS_MAP} options", "options"),
    ("String", "extractCatalog", f"{OPTIONS_MAP} options", "options"),
    ("java.util.Optional", "extractTimeTravelVersion", f"{OPTIONS_MAP} options", "options"),
    ("java.util.Optional", "extractTimeTravelTimestamp", f"{OPTIONS_MAP} options", "options"),
    (_STRUCT, "inferSchema", f"{OPTIONS_MAP} options", "options"),
    (_TRANSFORMS, "inferPartitioning", f"{OPTIONS_MAP} options", "options"),
    (f"{CATALOG}.Table", "getTable", f"{_STRUCT} struct, {_TRANSFORMS} parts, java.util.Map options",
     "struct, parts, options"),
    ("boolean", "supportsExternalMetadata", "", ""),
)  # fmt: skip
"""The methods of the class: the return type, name, parameters and arguments of each."""


class PaimonSource(Proxy):
    """The implementation of the data source in one Spark context (Paimon: `SparkSource`).

    Spark finds a data source by its class: ``paimon.DefaultSource`` is ``format("paimon")``. Javassist creates it at
    run time (decision 11), and its methods call Python. For batches it refers Spark to the session's catalog of paths,
    where a table supports the same as by name; for streams, which Spark loads from no catalog, it returns the table
    itself.

    Args:
        jvm: the JVM.
        paths_of: returns the catalog of paths of a JVM session, and registers it there.
    """

    implements = [_SOURCE]

    def __init__(self, jvm: Jvm, paths_of: Callable[[ClassicSession], PathCatalogProxy]) -> None:
        super().__init__(jvm)
        self.names = PathNames()
        self._paths_of = paths_of

    def extractCatalog(self, options: StringMap) -> str:
        self._paths()
        return options.get(CATALOG_OPTION) or PATHS

    def extractIdentifier(self, options: StringMap) -> Ident:
        return self._identifier(dict(options.asCaseSensitiveMap()))

    def extractTimeTravelVersion(self, options: StringMap) -> JavaObject:
        return self.jvm.static("java.util.Optional", "ofNullable")(options.get("versionAsOf"))

    def extractTimeTravelTimestamp(self, options: StringMap) -> JavaObject:
        return self.jvm.static("java.util.Optional", "ofNullable")(options.get("timestampAsOf"))

    def inferSchema(self, options: StringMap) -> None:
        return None  # Spark takes it from the table

    def inferPartitioning(self, options: StringMap) -> None:
        return None  # Spark takes it from the table

    def getTable(self, struct: object, partitioning: object, options: Mapping[str, str]) -> object:
        given = dict(options)
        name = option(given, CATALOG_OPTION)
        if name is None:
            return self._paths().loadTable(self._identifier(given))
        catalog = self._active().sessionState().catalogManager().catalog(name)
        return catalog.loadTable(self._identifier(given))

    def supportsExternalMetadata(self) -> bool:
        return False

    def register(self) -> None:
        """Register this object as the data source ``paimon``, replacing an earlier one."""
        _class_of(self.jvm).getField(_ANSWERS).set(None, self)

    def _identifier(self, options: Mapping[str, str]) -> Ident:
        """Spark's identifier of the options' table, in the options' catalog."""
        namespace, name = self.names.named(options)
        return self.jvm.cls(f"{CATALOG}.Identifier").of(self.jvm.strings(namespace), name)

    def _paths(self) -> PathCatalogProxy:
        return self._paths_of(self._active())

    def _active(self) -> ClassicSession:
        return self.jvm.cls("org.apache.spark.sql.classic.SparkSession").active()


def _class_of(jvm: Jvm) -> Class:
    """The class, compiled if this JVM lacks it.

    It is defined in Spark's own class loader: an ancestor of all class loaders in which Spark looks for data sources.
    """
    members = [f"public static volatile {_SOURCE} {_ANSWERS};", *(_java(*method) for method in _METHODS)]
    return jvm.compiled_class(_CLASS, members, beside=_SOURCE, interfaces=[_SOURCE])


def _java(returns: str, name: str, parameters: str, arguments: str) -> str:
    """The source text of a method that calls Python."""
    return f"""
        public {returns} {name}({parameters}) {{
            if ({_ANSWERS} == null) throw new IllegalStateException("{_GONE}");
            try {{
                return {_ANSWERS}.{name}({arguments});
            }} catch (py4j.Py4JException error) {{
                if (error.getCause() instanceof java.io.IOException) throw new IllegalStateException("{_GONE}");
                throw error;
            }}
        }}"""
