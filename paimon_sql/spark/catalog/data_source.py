"""Data source ``paimon``: tables by path, for reads, writes and streams of DataFrames.

Spark finds a data source by its class: ``paimon.DefaultSource`` is ``format("paimon")``. Javassist creates it at run
time (decision 11), and its methods call Python. For batches it refers Spark to the session's catalog of paths
(`paimon_sql/spark/catalog/path_catalog.py`), where a table supports the same as by name; for streams, which Spark loads
from no catalog, it returns the table itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_sql.spark.catalog.path_catalog import PATHS, PathCatalogProxy, PathNames
from paimon_sql.spark.jvm.compiled_class import compiled_class
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.options.read import CATALOG_OPTION, option

_CLASS = "paimon.DefaultSource"
_SOURCE = f"{CATALOG}.SupportsCatalogOptions"
_OPTIONS = "org.apache.spark.sql.util.CaseInsensitiveStringMap"
_STRUCT = "org.apache.spark.sql.types.StructType"
_TRANSFORMS = f"{CONNECTOR}.expressions.Transform[]"
_ANSWERS = "answers"
_GONE = "The data source 'paimon' cannot answer: the Python process that it belongs to has ended or is not set up."

_METHODS = (
    (f"{CATALOG}.Identifier", "extractIdentifier", f"{_OPTIONS} options", "options"),
    ("String", "extractCatalog", f"{_OPTIONS} options", "options"),
    ("java.util.Optional", "extractTimeTravelVersion", f"{_OPTIONS} options", "options"),
    ("java.util.Optional", "extractTimeTravelTimestamp", f"{_OPTIONS} options", "options"),
    (_STRUCT, "inferSchema", f"{_OPTIONS} options", "options"),
    (_TRANSFORMS, "inferPartitioning", f"{_OPTIONS} options", "options"),
    (f"{CATALOG}.Table", "getTable", f"{_STRUCT} struct, {_TRANSFORMS} parts, java.util.Map options",
     "struct, parts, options"),
    ("boolean", "supportsExternalMetadata", "", ""),
)  # fmt: skip
"""The methods of the class: the return type, name, parameters and arguments of each."""


class PaimonSource(JavaObject):
    """The implementation of the data source in one Spark context.

    Args:
        jvm: the JVM.
        paths_of: returns the catalog of paths of a JVM session, and registers it there.
    """

    def __init__(self, jvm: Jvm, paths_of: Callable[[Any], PathCatalogProxy]) -> None:
        super().__init__(jvm)
        self.names = PathNames()
        self._paths_of = paths_of

    def extractCatalog(self, options: Any) -> str:
        self._paths()
        return options.get(CATALOG_OPTION) or PATHS

    def extractIdentifier(self, options: Any) -> Any:
        return self._identifier(dict(options.asCaseSensitiveMap()))

    def extractTimeTravelVersion(self, options: Any) -> Any:
        return self._optional(options.get("versionAsOf"))

    def extractTimeTravelTimestamp(self, options: Any) -> Any:
        return self._optional(options.get("timestampAsOf"))

    def inferSchema(self, options: Any) -> Any:
        return None  # Spark takes it from the table

    def inferPartitioning(self, options: Any) -> Any:
        return None  # Spark takes it from the table

    def getTable(self, struct: Any, partitioning: Any, options: Any) -> Any:
        given = dict(options)
        catalog = option(given, CATALOG_OPTION)
        if catalog is None:
            return self._paths().loadTable(self._identifier(given))
        return self._active().sessionState().catalogManager().catalog(catalog).loadTable(self._identifier(given))

    def supportsExternalMetadata(self) -> bool:
        return False

    def register(self) -> None:
        """Register this object as the data source ``paimon``, replacing an earlier one."""
        source = _class_of(self.jvm)
        source.getField(_ANSWERS).set(None, self)

    def _identifier(self, options: Mapping[str, str]) -> Any:
        """Spark's identifier of the options' table, in the options' catalog."""
        namespace, name = self.names.named(options)
        return self.jvm.cls(f"{CATALOG}.Identifier").of(self.jvm.strings(namespace), name)

    def _paths(self) -> PathCatalogProxy:
        return self._paths_of(self._active())

    def _active(self) -> Any:
        return self.jvm.cls("org.apache.spark.sql.classic.SparkSession").active()

    def _optional(self, text: str | None) -> Any:
        return self.jvm.static("java.util.Optional", "ofNullable")(text)

    class Java:
        implements = [_SOURCE]


def _class_of(jvm: Jvm) -> Any:
    """The class, compiled if this JVM lacks it.

    It is defined in Spark's own class loader: an ancestor of all class loaders in which Spark looks for data sources.
    """
    members = [f"public static volatile {_SOURCE} {_ANSWERS};", *(_java(*method) for method in _METHODS)]
    return compiled_class(jvm, _CLASS, members, beside=_SOURCE, interfaces=[_SOURCE])


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
