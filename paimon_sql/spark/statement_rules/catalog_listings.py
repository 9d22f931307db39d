"""SHOW TABLES and SHOW TABLE EXTENDED list a catalog's views among its tables, as they do in Spark's own catalog.

Spark asks only a ``RelationCatalog`` for both, and does not pass it the options of relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import NoSuchDatabaseError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.format.schema.types import BooleanType, DataField, string_type
from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.catalog_objects.stored_sql import DIALECT, shown_options
from paimon_sql.spark.conversion.rows import internal_rows
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.java.catalyst import InternalRow, LogicalPlan
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import CATALYST, DATASOURCES, PLANS, Jvm
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.rules.optimizer import PlanRule

ROWS = f"{PLANS}.LocalRelation"
"""The plan of given rows, as the result of a command."""
DESCRIBED_TABLES = f"{DATASOURCES}.v2.ShowTablesExtendedExec"
_QUOTING = f"{CATALYST}.util.QuotingUtils"
_NAMES = (
    DataField(0, "namespace", string_type(False)),
    DataField(1, "tableName", string_type(False)),
    DataField(2, "isTemporary", BooleanType(False)),
)
_DESCRIBED = (*_NAMES, DataField(3, "information", string_type(False)))


class ViewsAmongTables(PlanRule):
    """Adds views to the results of SHOW TABLES and SHOW TABLE EXTENDED in a Paimon catalog."""

    roots = frozenset(("ShowTables", "ShowTablesExtended"))

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        resolved = plan.child()
        proxy = python_object(self.jvm, resolved.catalog())
        namespace: list[str] = self.jvm.items(resolved.namespace())
        if not isinstance(proxy, CatalogProxy) or len(namespace) != 1 or namespace[0] == SYSTEM_DATABASE:
            return plan
        try:
            views = proxy.catalog.list_views(namespace[0])
        except NoSuchDatabaseError:
            return plan  # Spark reports it
        if not views:
            return plan
        if plan.getClass().getSimpleName() == "ShowTables":
            pattern = plan.pattern()
            names = [*proxy.catalog.list_tables(namespace[0]), *views]
            matching = self._matching(names, str(pattern.get())) if pattern.isDefined() else sorted(names)
            return self._relation(plan, self._rows(_NAMES, namespace[0], [(name,) for name in matching]))
        matching = self._matching(views, str(plan.pattern()))
        if not matching:
            return plan
        information = [(name, self._information(proxy, Identifier(namespace[0], name))) for name in matching]
        members = (plan.output(), resolved.catalog(), resolved.namespace(), plan.pattern())
        tables = self.jvm.new(DESCRIBED_TABLES, *members).executeCollect()
        rows = rows_by_name([*tables, *self._rows(_DESCRIBED, namespace[0], information)])
        return self._relation(plan, [rows[key] for key in sorted(rows)])

    def _matching(self, names: Sequence[str], pattern: str) -> list[str]:
        """The names that match a pattern of Spark's, sorted."""
        texts = self.jvm.singleton(f"{CATALYST}.util.StringUtils")
        return self.jvm.items(texts.filterPattern(self.jvm.seq(names), pattern))

    def _rows(
        self, fields: Sequence[DataField], database: str, named: Iterable[tuple[str, ...]]
    ) -> Sequence[InternalRow]:
        """Rows of persistent tables and views, from their names with what follows ``isTemporary``."""
        shown = str(self.jvm.static(_QUOTING, "quoteIfNeeded")(database))
        columns = [f.name for f in fields]
        rows = [dict(zip(columns, (shown, name, False, *more), strict=True)) for name, *more in named]
        return internal_rows(self.jvm, pa.Table.from_pylist(rows, schema=arrow_schema(fields)), fields)

    def _relation(self, plan: LogicalPlan, rows: Sequence[InternalRow]) -> LogicalPlan:
        return self.jvm.new(ROWS, plan.output(), self.jvm.seq(rows), False, self.jvm.none)

    def _information(self, proxy: CatalogProxy, identifier: Identifier) -> str:
        view: ViewSchema = proxy.catalog.view(identifier)
        properties = ", ".join(f"{key}={value}" for key, value in sorted(shown_options(view.options).items()))
        known = {
            "Catalog": proxy.catalog.name,
            "Namespace": str(self.jvm.static(_QUOTING, "quoteIfNeeded")(identifier.database)),
            "Table": identifier.table,
            "Type": "VIEW",
            "Comment": view.comment,
            "View Text": view.query_for(DIALECT),
            "Table Properties": f"[{properties}]" if properties else None,
            "Schema": self.jvm.struct(row_struct(view.fields)).treeString(),
        }
        return "\n".join(f"{name}: {value}" for name, value in known.items() if value is not None)


def row_of(jvm: Jvm, text: str) -> Seq[JavaObject]:
    """A single external row with a text."""
    return jvm.seq([jvm.singleton("org.apache.spark.sql.Row").fromSeq(jvm.seq([text]))])


def rows_by_name(rows: Iterable[InternalRow]) -> dict[tuple[bool, str], InternalRow]:
    """The rows of SHOW TABLE EXTENDED by whether the table is temporary, and by name."""
    return {(row.getBoolean(2), row.getUTF8String(1).toString()): row for row in rows}
