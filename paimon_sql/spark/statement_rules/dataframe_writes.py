"""Schema merging of DataFrame writes (``write.merge-schema``): new columns are added before Spark resolves the write.

These are ``saveAsTable``, ``writeTo`` and ``save`` to a path; INSERT .. BY NAME is a carried statement
(`row_level/insert.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.catalog.table_types import writable
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA
from paimon_sql.spark.catalog.paimon_catalog import CatalogProxy, identifier_of
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, Jvm, python_object
from paimon_sql.spark.options.write import write_options
from paimon_sql.spark.rules.analyzer import BEFORE_RESOLUTION, RELATION, AnalysisRule
from paimon_sql.spark.rules.compiled_rule import NODE
from paimon_sql.spark.rules.optimizer import with_parts
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.write.merge_schema import SchemaMerge
from paimon_sql.storage.branches.management import moved_to_branch

_WRITE = f"{CATALYST}.plans.logical.V2WriteCommand"
_OPTIONS = "org.apache.spark.sql.util.CaseInsensitiveStringMap"


class Catalogs(Protocol):
    """The Paimon catalogs of a session, including that of paths."""

    def catalog_named(self, name: str) -> CatalogProxy | None:
        """The Paimon catalog of a name; None if there is none."""


class MergedTableProxy(TableProxy):
    """A table whose schema is merged already: Spark runs a rule again until it changes nothing."""


class MergeSchemas(AnalysisRule):
    """Adds new columns of a DataFrame to its table, if an option of the writer or session requests it.

    Args:
        jvm: the JVM.
        session: the session.
        catalogs: returns the session's catalogs.
    """

    stage = BEFORE_RESOLUTION
    compiled = "paimon.WriteRule"
    condition = (
        f"""
            private boolean matches({NODE} plan) {{
                return plan instanceof {_WRITE} && (({_WRITE}) plan).isByName();
            }}""",
    )

    def __init__(self, jvm: Jvm, session: Any, catalogs: Callable[[], Catalogs]) -> None:
        super().__init__(jvm, session)
        self._catalogs = catalogs

    def rewrite(self, write: Any) -> Any:
        enabled = self._writer_option(write)
        if enabled is None and WRITE_MERGE_SCHEMA.key not in str(self.session.conf().getAll().toString()):
            return write
        if enabled == "false":
            return write
        relation = self._relation(write.table())
        target = python_object(self.jvm, relation.table()) if relation is not None else None
        if not isinstance(target, TableProxy) or isinstance(target, MergedTableProxy):
            return write
        if not relation.identifier().isDefined():
            return write
        return self._merged(write, relation, target)

    def _writer_option(self, write: Any) -> str | None:
        """The writer's option ``write.merge-schema``; None if it is not set."""
        given = self.jvm.strings_map(self.jvm.as_java(write.writeOptions()))
        return next((v.lower() for k, v in given.items() if k.lower() == WRITE_MERGE_SCHEMA.key), None)

    def _relation(self, table: Any) -> Any:
        """The relation of a write's table; None if it is not a table of a catalog."""
        found = table
        if table.getClass().getSimpleName() == "UnresolvedRelation":
            skip = self.jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
            found = self.session.sessionState().executePlan(table, skip).analyzed()
        while found.getClass().getSimpleName() == "SubqueryAlias":
            found = found.child()
        return found if found.getClass().getName() == RELATION else None

    def _merged(self, write: Any, relation: Any, target: TableProxy) -> Any:
        jvm = self.jvm
        catalog = self._catalogs().catalog_named(str(relation.catalog().get().name()))
        if catalog is None:
            return write
        given = write_options(jvm, target.written, jvm.new(_OPTIONS, jvm.as_java(write.writeOptions())))
        table = moved_to_branch(writable(target.written), given, writes=True).with_options(given)
        if not table.options.get(WRITE_MERGE_SCHEMA):
            return write
        rows = jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(self.session, write.query())
        frame = DataFrame(rows, SparkSession(jvm.context, self.session))
        case_sensitive = bool(self.session.sessionState().conf().caseSensitiveAnalysis())
        merge = SchemaMerge(table, frame, case_sensitive=case_sensitive)
        ident = relation.identifier().get()
        evolved = merge.apply(catalog.catalog, replace(identifier_of(catalog, ident), branch=table.branch))
        filled = merge.rows(evolved)
        query = write.query() if filled is frame else filled._jdf.queryExecution().analyzed()
        written = jvm.cls(RELATION).create(
            MergedTableProxy(jvm, evolved, self.session), relation.catalog(), relation.identifier()
        )
        return write.withNewTable(with_parts(jvm, written, options=relation.options())).withNewQuery(query)
