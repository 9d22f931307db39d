"""Rules for writes of DataFrames: merged schemas, and the options of tables that a query creates or replaces.

These are ``saveAsTable``, ``writeTo`` and ``save`` to a path; INSERT .. BY NAME is a carried statement
(`row_level/schema_evolution.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from paimon_sql.catalog.table_types import writable
from paimon_sql.format.options import Scope, find_option
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA
from paimon_sql.format.options.registry import is_bare_alternative
from paimon_sql.format.options.table.table import BRANCH, PATH
from paimon_sql.spark.catalog.base import identifier_of
from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.ddl.create_table import PROVIDER
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaObject, ScalaMap, Seq
from paimon_sql.spark.jvm.compat import write_by_name
from paimon_sql.spark.jvm.gateway import CATALYST, EXPRESSIONS, OPTIONS_MAP, PLANS
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import write_options
from paimon_sql.spark.rules.analyzer import BEFORE_RESOLUTION, RELATION, AnalysisRule
from paimon_sql.spark.rules.compiled_rule import NODE
from paimon_sql.spark.rules.optimizer import PlanRule, with_parts
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.write.merge_schema import SchemaMerge
from paimon_sql.sql.context import SESSION_CATALOG, TableName
from paimon_sql.storage.branches.selection import moved_to_branch
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_WRITE = f"{PLANS}.V2WriteCommand"


class Session(Protocol):
    """A session and its Paimon catalogs."""

    session: JvmSession
    catalogs: dict[str, CatalogProxy]

    def catalog_named(self, name: str) -> CatalogProxy | None:
        """The Paimon catalog of a name, including that of paths; None if there is none."""

    def is_ordinary(self, table: TableName) -> bool:
        """Whether a name of the session's ``spark_catalog`` is not that of a Paimon table."""


class MergedTableProxy(TableProxy):
    """A table whose schema is merged already: Spark runs a rule again until it changes nothing."""


class MergeSchemas(AnalysisRule):
    """Adds new columns of a DataFrame to its table, if an option of the writer or session requests it.

    Args:
        session: the session.
        attached: returns the session with its catalogs.
    """

    stage = BEFORE_RESOLUTION
    compiled = "paimon.WriteRule"
    condition = (
        f"""
            private boolean matches({NODE} plan) {{
                return plan instanceof {_WRITE} && (({_WRITE}) plan).isByName();
            }}""",
    )

    def __init__(self, session: JvmSession, attached: Callable[[], Session]) -> None:
        super().__init__(session)
        self._attached = attached

    def rewrite(self, write: LogicalPlan) -> LogicalPlan:
        enabled = self._writer_option(write)
        is_unset = enabled is None and WRITE_MERGE_SCHEMA.key not in self.session.conf.getAll().toString()
        if is_unset or enabled == "false":
            return write
        relation = self._relation(write.table())
        if relation is None or not relation.identifier().isDefined():
            return write
        target = python_object(self.jvm, relation.table())
        if not isinstance(target, TableProxy) or isinstance(target, MergedTableProxy):
            return write
        return self._merged(write, relation, target)

    def _writer_option(self, write: LogicalPlan) -> str | None:
        """The writer's option ``write.merge-schema``; None if it is not set."""
        given = self.jvm.strings_map(self.jvm.as_map(write.writeOptions()))
        return next((v.lower() for k, v in given.items() if k.lower() == WRITE_MERGE_SCHEMA.key), None)

    def _relation(self, table: LogicalPlan) -> LogicalPlan | None:
        """The relation of a write's table; None if it is not a table of a catalog."""
        found = table
        if table.getClass().getSimpleName() == "UnresolvedRelation":
            found = self.session.execution(table).analyzed()
        while found.getClass().getSimpleName() == "SubqueryAlias":
            found = found.child()
        return found if found.getClass().getName() == RELATION else None

    def _merged(self, write: LogicalPlan, relation: LogicalPlan, target: TableProxy) -> LogicalPlan:
        jvm = self.jvm
        catalog = self._attached().catalog_named(str(relation.catalog().get().name()))
        if catalog is None:
            return write
        given = write_options(jvm, target.written, jvm.new(OPTIONS_MAP, jvm.as_map(write.writeOptions())))
        table = moved_to_branch(writable(target.written), given, writes=True).with_options(given)
        if not table.options.get(WRITE_MERGE_SCHEMA):
            return write
        frame = self.session.frame(write.query())
        merge = SchemaMerge(table, frame, case_sensitive=self.session.case_sensitive)
        ident = relation.identifier().get()
        evolved = merge.apply(catalog.catalog, replace(identifier_of(catalog, ident), branch=table.branch))
        filled = merge.rows(evolved)
        query = write.query() if filled is frame else filled._jdf.queryExecution().analyzed()
        proxy = MergedTableProxy(self.session, evolved)
        written = jvm.cls(RELATION).create(proxy, relation.catalog(), relation.identifier())
        return write.withNewTable(with_parts(jvm, written, options=relation.options())).withNewQuery(query)


_CREATE, _REPLACE = "CreateTableAsSelect", "ReplaceTableAsSelect"
_READ_OPTIONS = frozenset((*TRAVEL_KEYS, BRANCH.key, PATH.key))


class TableAsSelect(PlanRule):
    """Adds the writer's options to new tables, and retains the definition of tables that a frame overwrites.

    Spark passes the options of a ``DataFrameWriter`` only to the write, so that ``df.write.option("primary-key", "a")
    .saveAsTable("new")`` would ignore them, and it makes ``saveAsTable`` in mode ``overwrite`` a replacement of the
    table. Both are changed as in Paimon's connector (Paimon: ``PaimonTableAsSelectHelper``): table options become
    properties of the new table, and an existing table retains its definition, only its rows are overwritten.
    """

    roots = frozenset((_CREATE, _REPLACE))

    def __init__(self, attached: Session) -> None:
        super().__init__(attached.session)
        self._attached = attached

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        name = plan.name()
        catalog = self._attached.catalogs.get(str(name.catalog().name()))
        if catalog is None or (catalog.catalog.name == SESSION_CATALOG and not _is_paimon(plan.tableSpec())):
            return plan
        if plan.getClass().getSimpleName() == _REPLACE and self._is_saved_as_table():
            identifier: Ident = name.identifier()
            parts = (catalog.catalog.name, *identifier.namespace(), identifier.name())
            existing = self._existing(catalog, identifier, parts)
            if existing is not None:
                return self._overwriting(existing, parts, plan)
        return self._with_properties(plan)

    def _is_saved_as_table(self) -> bool:
        """Whether ``DataFrameWriter.saveAsTable`` runs this command, and not SQL or ``DataFrameWriterV2``.

        The plans of all three are equal; Paimon's connector inspects the stack trace as well.
        """
        trace = self.jvm.cls("java.lang.Thread").currentThread().getStackTrace()
        return ".DataFrameWriter." in str(self.jvm.static("org.apache.commons.lang3.ArrayUtils", "toString")(trace))

    def _existing(self, catalog: CatalogProxy, identifier: Ident, parts: TableName) -> SchemaTable | None:
        """The Paimon table of that name; None if there is none."""
        if catalog.catalog.name == SESSION_CATALOG and self._attached.is_ordinary(parts):
            return None
        found = catalog.opened(identifier) if catalog.tableExists(identifier) else None
        return found if isinstance(found, SchemaTable) else None

    def _overwriting(self, table: SchemaTable, parts: TableName, plan: LogicalPlan) -> LogicalPlan:
        """The write by name that overwrites a table with a query's rows, in the session's overwrite mode."""
        jvm, session = self.jvm, self._attached.session
        no_options = jvm.new(OPTIONS_MAP, jvm.java_map({}))
        relation = jvm.new(f"{CATALYST}.analysis.UnresolvedRelation", jvm.seq(parts), no_options, False)
        mode, arguments = session.state.conf().partitionOverwriteMode(), (relation, plan.query())
        if table.table.schema.partition_keys and mode.toString() == "DYNAMIC":
            write = write_by_name(jvm, "OverwritePartitionsDynamic", *arguments, plan.writeOptions())
        else:
            always = jvm.singleton(f"{EXPRESSIONS}.Literal").TrueLiteral()
            write = write_by_name(jvm, "OverwriteByExpression", *arguments, always, plan.writeOptions())
        # The command is being executed already: its replacement must be planned but not executed eagerly.
        return session.execution(write).optimizedPlan()

    def _with_properties(self, plan: LogicalPlan) -> LogicalPlan:
        """The plan with the writer's table options moved to the table's properties."""
        given = self.jvm.strings_map(self.jvm.as_map(plan.writeOptions()))
        table_options = {key: value for key, value in given.items() if _is_table_option(key)}
        if not table_options:
            return plan
        spec = plan.tableSpec()
        members: Seq[JavaObject] = spec.productIterator().toSeq()
        first, *rest = self.jvm.items(members)
        properties = self._scala({**self.jvm.strings_map(self.jvm.as_map(first)), **table_options})
        changed = self.jvm.new(str(spec.getClass().getName()), properties, *rest)
        others = self._scala({key: value for key, value in given.items() if key not in table_options})
        return with_parts(self.jvm, plan, tableSpec=changed, writeOptions=others)

    def _scala(self, items: Mapping[str, str]) -> ScalaMap[str, str]:
        return self.jvm.scala_map(self.jvm.java_map(items))


def _is_table_option(key: str) -> bool:
    """Whether an option of a writer is a table option, and not only an option of the write."""
    option = find_option(key)
    if option is None or is_bare_alternative(key) or option.key in _READ_OPTIONS:
        return False
    return option.scope in (Scope.TABLE, Scope.FLINK)


def _is_paimon(spec: JavaObject) -> bool:
    provider = spec.provider()
    return bool(provider.isDefined()) and str(provider.get()).lower() == PROVIDER
