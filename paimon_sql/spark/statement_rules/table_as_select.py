"""CREATE TABLE AS SELECT and REPLACE TABLE AS SELECT, by any interface: options and semantics of Paimon's connector.

Spark passes the options of a ``DataFrameWriter`` only to the write, so that ``df.write.option("primary-key", "a")
.saveAsTable("new")`` would ignore them, and it makes ``saveAsTable`` in mode ``overwrite`` a replacement of the table.
Both are changed as in Paimon's connector (Paimon: ``PaimonTableAsSelectHelper``): table options become properties of
the new table, and an existing table retains its definition, only its rows are overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from paimon_sql.format.options import Scope, find_option
from paimon_sql.format.options.registry import is_bare_alternative
from paimon_sql.format.options.table.table import BRANCH, PATH
from paimon_sql.spark.catalog.paimon_catalog import CatalogProxy
from paimon_sql.spark.ddl.create_table import PROVIDER
from paimon_sql.spark.jvm.compat import write_by_name
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, Jvm
from paimon_sql.spark.rules.optimizer import PlanRule
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.sql.context import SESSION_CATALOG, TableName
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_PLANS = f"{CATALYST}.plans.logical"
_CREATE, _REPLACE = "CreateTableAsSelect", "ReplaceTableAsSelect"
_SPEC, _OPTIONS = 3, 4
"""The positions of the table's specification and of the write's options among the members of both plans."""
_READ_OPTIONS = frozenset((*TRAVEL_KEYS, BRANCH.key, PATH.key))


class Session(Protocol):
    """A session and its Paimon catalogs."""

    session: Any
    catalogs: dict[str, CatalogProxy]

    def is_ordinary(self, table: TableName) -> bool:
        """Whether a name of the session's ``spark_catalog`` is not that of a Paimon table."""


class TableAsSelect(PlanRule):
    """Adds the writer's options to new tables, and retains the definition of tables that a frame overwrites."""

    roots = frozenset((_CREATE, _REPLACE))

    def __init__(self, jvm: Jvm, attached: Session) -> None:
        super().__init__(jvm)
        self._attached = attached

    def rewrite(self, plan: Any) -> Any:
        name = plan.name()
        catalog = self._attached.catalogs.get(str(name.catalog().name()))
        if catalog is None or (catalog.catalog.name == SESSION_CATALOG and not _is_paimon(plan.tableSpec())):
            return plan
        if plan.getClass().getSimpleName() == _REPLACE and self._is_saved_as_table():
            identifier = name.identifier()
            parts = (catalog.catalog.name, *identifier.namespace(), str(identifier.name()))
            existing = self._existing(catalog, identifier, parts)
            if existing is not None:
                return self._overwriting(existing, parts, plan)
        return self._with_properties(plan)

    def _is_saved_as_table(self) -> bool:
        """Whether ``DataFrameWriter.saveAsTable`` runs this command, and not SQL or ``DataFrameWriterV2``.

        The plans of all three are equal; Paimon's connector inspects the stack trace as well.
        """
        thread = self.jvm.cls("java.lang.Thread").currentThread()
        show = self.jvm.static("org.apache.commons.lang3.ArrayUtils", "toString")
        trace = str(show(thread.getStackTrace()))
        return ".DataFrameWriter." in trace

    def _existing(self, catalog: CatalogProxy, identifier: Any, parts: TableName) -> SchemaTable | None:
        """The Paimon table of that name; None if there is none."""
        if catalog.catalog.name == SESSION_CATALOG and self._attached.is_ordinary(parts):
            return None
        found = catalog.loadTable(identifier) if catalog.tableExists(identifier) else None
        return found if isinstance(found, SchemaTable) else None

    def _overwriting(self, table: SchemaTable, parts: TableName, plan: Any) -> Any:
        """The write by name that overwrites a table with a query's rows, in the session's overwrite mode."""
        jvm, session = self.jvm, self._attached.session
        no_options = jvm.new("org.apache.spark.sql.util.CaseInsensitiveStringMap", jvm.java_map({}))
        relation = jvm.new(f"{CATALYST}.analysis.UnresolvedRelation", jvm.seq(parts), no_options, False)
        state, arguments = session.sessionState(), (relation, plan.query())
        if table.table.schema.partition_keys and str(state.conf().partitionOverwriteMode().toString()) == "DYNAMIC":
            write = write_by_name(jvm, "OverwritePartitionsDynamic", *arguments, plan.writeOptions())
        else:
            always = jvm.singleton(f"{CATALYST}.expressions.Literal").TrueLiteral()
            write = write_by_name(jvm, "OverwriteByExpression", *arguments, always, plan.writeOptions())
        # The command is being executed already: its replacement must be planned but not executed eagerly.
        planned_only = jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        return state.executePlan(write, planned_only).optimizedPlan()

    def _with_properties(self, plan: Any) -> Any:
        """The plan with the writer's table options moved to the table's properties."""
        given = self.jvm.strings_map(self.jvm.as_java(plan.writeOptions()))
        table_options = {key: value for key, value in given.items() if _is_table_option(key)}
        if not table_options:
            return plan
        spec = plan.tableSpec()
        properties, *rest = self.jvm.items(spec.productIterator().toSeq())
        properties = self._scala({**self.jvm.strings_map(self.jvm.as_java(properties)), **table_options})
        parts = self.jvm.items(plan.productIterator().toSeq())
        parts[_SPEC] = self.jvm.new(spec.getClass().getName(), properties, *rest)
        parts[_OPTIONS] = self._scala({key: value for key, value in given.items() if key not in table_options})
        return plan.makeCopy(self.jvm.array("java.lang.Object", parts))

    def _scala(self, items: Mapping[str, str]) -> Any:
        return self.jvm.scala_map(self.jvm.java_map(items))


def _is_table_option(key: str) -> bool:
    """Whether an option of a writer is a table option, and not only an option of the write."""
    option = find_option(key)
    if option is None or is_bare_alternative(key) or option.key in _READ_OPTIONS:
        return False
    return option.scope in (Scope.TABLE, Scope.FLINK)


def _is_paimon(spec: Any) -> bool:
    provider = spec.provider()
    return bool(provider.isDefined()) and str(provider.get()).lower() == PROVIDER
