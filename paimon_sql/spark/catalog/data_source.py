"""The data source ``paimon``: tables by their paths, for reads, writes and streams of DataFrames.

Spark finds a data source by its class: ``paimon.DefaultSource`` stands for ``format("paimon")``. Javassist makes it
at run time (decision 11); whatever Spark asks of it, Python answers. For batches it leads to the session's catalog of
paths (`paimon_sql/spark/catalog/path_catalog.py`), where a table is all that it is by its name; for streams, which
Spark takes from no catalog, to the table itself.
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
"""The methods of the class: what each gives, its name, its parameters, and these as arguments."""


class PaimonSource(JavaObject):
    """What answers for the data source in one Spark context.

    Args:
        jvm: the JVM.
        paths_of: gives the catalog of paths of a JVM session, which has it from then on.
    """

    def __init__(self, jvm: Jvm, paths_of: Callable[[Any], PathCatalogProxy]) -> None:
        super().__init__(jvm)
        self.names = PathNames()
        self._paths_of = paths_of

    def extractCatalog(self, options: Any) -> str:
        self._paths()
        return options.get(CATALOG_OPTION) or PATHS

    def extractIdentifier(self, options: Any) -> Any:
        return self._named(dict(options.asCaseSensitiveMap()))

    def extractTimeTravelVersion(self, options: Any) -> Any:
        return self._optional(options.get("versionAsOf"))

    def extractTimeTravelTimestamp(self, options: Any) -> Any:
        return self._optional(options.get("timestampAsOf"))

    def inferSchema(self, options: Any) -> Any:
        return None  # the table knows it

    def inferPartitioning(self, options: Any) -> Any:
        return None  # the table knows it

    def getTable(self, struct: Any, partitioning: Any, options: Any) -> Any:
        given = dict(options)
        catalog = option(given, CATALOG_OPTION)
        if catalog is None:
            return self._paths().loadTable(self._named(given))
        return self._active().sessionState().catalogManager().catalog(catalog).loadTable(self._named(given))

    def supportsExternalMetadata(self) -> bool:
        return False

    def make_known(self) -> None:
        """Let Spark find this object as the data source ``paimon``, in the place of any that it found before."""
        source = _class_of(self.jvm)
        source.getField(_ANSWERS).set(None, self)

    def _named(self, options: Mapping[str, str]) -> Any:
        """Spark's identifier of the table that the options mean, in the catalog that they mean."""
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
    """The class, made if this JVM has it not yet.

    It stands in the class loader of Spark itself, to which all others lead that Spark looks for data sources in.
    """
    members = [f"public static volatile {_SOURCE} {_ANSWERS};", *(_java(*method) for method in _METHODS)]
    return compiled_class(jvm, _CLASS, members, beside=_SOURCE, interfaces=[_SOURCE])


def _java(gives: str, name: str, parameters: str, arguments: str) -> str:
    """The text of a method that lets Python answer."""
    return f"""
        public {gives} {name}({parameters}) {{
            if ({_ANSWERS} == null) throw new IllegalStateException("{_GONE}");
            try {{
                return {_ANSWERS}.{name}({arguments});
            }} catch (py4j.Py4JException error) {{
                if (error.getCause() instanceof java.io.IOException) throw new IllegalStateException("{_GONE}");
                throw error;
            }}
        }}"""
