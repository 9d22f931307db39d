"""Names of tables for OpenLineage, whose listener in Spark asks tables for them by their properties.

A dataset is a table of its warehouse: the namespace is the warehouse's URI and the name ``db.table``, so that it is the
same in all sessions, whatever they call their catalogs. The location is another name of it (facet ``symlinks``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.table.table import Table

LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
PRODUCER = "https://pypi.org/project/paimon-sql"
_FACETS = "https://openlineage.io/spec/facets"
_PREFIX = "openlineage.dataset."
_CLASS = "io.github.paimon_sql.lineage.Asked"
_ASKED = """
    public static boolean byOpenLineage() {
        StackTraceElement[] frames = Thread.currentThread().getStackTrace();
        for (int i = 0; i < frames.length; i++)
            if (frames[i].getClassName().startsWith("io.openlineage.")) return true;
        return false;
    }"""
_SLASHED = ("file", "hdfs", "viewfs")
"""Schemes whose locations OpenLineage names by absolute paths."""


@dataclass(frozen=True)
class Dataset:
    """A table as OpenLineage names it.

    Attributes:
        namespace: the URI of its warehouse.
        name: its name there, ``db.table``; of a branch, ``db.table$branch_b``.
        location: the URI of its directory.
    """

    namespace: str
    name: str
    location: str

    @property
    def facets(self) -> dict[str, object]:
        """The facets that only we know."""
        parts = urlsplit(self.location)
        namespace = f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme
        name = parts.path if parts.scheme in _SLASHED else parts.path.strip("/")
        identifiers = [{"namespace": namespace, "name": name, "type": "LOCATION"}]
        return {
            "symlinks": facet("1-0-1/SymlinksDatasetFacet", identifiers=identifiers),
            "storage": facet("1-0-1/StorageDatasetFacet", storageLayer="paimon"),
        }


def dataset_of(table: AnyTable) -> Dataset:
    """Return the dataset of a table; a table outside of a warehouse is one of the directory that holds it."""
    full_name = table.name_of_branch(MAIN_BRANCH) if isinstance(table, Table) else table.name
    name = full_name.partition(".")[2] or full_name
    database, _, called = name.partition(".")
    location = (
        table.path.rstrip("/") if "://" in table.path else f"file://{table.path.removeprefix('file:').rstrip('/')}"
    )
    standard = f"/{database}.db/{called}"
    warehouse = location.removesuffix(standard) if location.endswith(standard) else location.rpartition("/")[0]
    branch = table.name_of_branch(table.branch).removeprefix(full_name) if isinstance(table, Table) else ""
    return Dataset(warehouse, name + branch, location)


def lineage_properties(jvm: Jvm, table: AnyTable) -> Mapping[str, str]:
    """The properties that name a table for OpenLineage; empty for everyone else, who would see and copy them."""
    if not is_traced(jvm) or not _is_asked_by_listener(jvm):
        return {}
    dataset = dataset_of(table)
    facets = {f"{_PREFIX}facets.{name}": json.dumps(value) for name, value in dataset.facets.items()}
    return {f"{_PREFIX}namespace": dataset.namespace, f"{_PREFIX}name": dataset.name, **facets}


def is_traced(jvm: Jvm) -> bool:
    """Whether the listener of OpenLineage was registered when Spark started."""
    return jvm.constant("OpenLineage", lambda: LISTENER in jvm.context.getConf().get("spark.extraListeners", ""))


def facet(schema: str, **values: object) -> dict[str, object]:
    """Return a facet.

    Args:
        schema: the version and the name of its class.
        **values: its values.
    """
    kind = schema.rpartition("/")[2]
    return {"_producer": PRODUCER, "_schemaURL": f"{_FACETS}/{schema}.json#/$defs/{kind}", **values}


def _is_asked_by_listener(jvm: Jvm) -> bool:
    # A call of Java that Python makes while it answers one of Java runs in the same thread.
    made = jvm.compiled_class(_CLASS, (_ASKED,), beside="org.apache.spark.SparkContext")
    return bool(jvm.static(str(made.getName()), "byOpenLineage")())
