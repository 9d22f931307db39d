"""Empty strings in partition columns of format tables: written to the partition of NULL, as by Spark.

Both have the same directory (Spark: ``ExternalCatalogUtils.getPartitionPathString``). Spark's writer has one file open
at a time, and would create it twice if rows of one value follow those of the other. Spark adds a projection to writes
into its own tables (Spark: ``V1WriteCommand``, ``Empty2Null``), but not into tables of a catalog.
"""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, Jvm, python_object
from paimon_sql.spark.rules.optimizer import PlanRule, add_rules
from paimon_sql.spark.tables.format_tables.write import FormatWrite

_EXPRESSIONS = f"{CATALYST}.expressions"


class EmptyPartitionsAsNull(PlanRule):
    """Replaces empty strings by NULL in the partition columns of rows written to a format table."""

    roots = frozenset(("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"))

    @classmethod
    def ensure(cls, jvm: Jvm, session: Any) -> None:
        """Add the rule to a session that lacks it; call this before a plan is optimized."""

        def add() -> bool:
            add_rules(jvm, session, [cls(jvm)])
            return True

        jvm.constant(f"{cls.__name__} of {session.sessionUUID()}", add)

    def rewrite(self, plan: Any) -> Any:
        write = python_object(self.jvm, plan.write().get()) if plan.write().isDefined() else None
        done = self.jvm.new(f"{CATALYST}.trees.TreeNodeTag", type(self).__name__)
        if not isinstance(write, FormatWrite) or plan.getTagValue(done).isDefined():
            return plan
        names = {f.name for f in write.table.partition_fields}
        query = plan.query()
        columns = [c for c in self.jvm.items(query.output()) if c.name() in names and _is_string(c)]
        if not columns:
            return plan
        plan = plan.withNewChildren(self.jvm.seq([self._without_empty(query, columns)]))
        plan.setTagValue(done, True)
        return plan

    def _without_empty(self, query: Any, columns: list[Any]) -> Any:
        """The query with NULL for empty strings, projected below its sort by partitions."""
        jvm, replacements = self.jvm, {c.exprId().id(): self._null_if_empty(c) for c in columns}

        def of(attribute: Any) -> Any:
            found = replacements.get(attribute.exprId().id())
            return found.toAttribute() if found is not None else attribute

        def order(of_rows: Any) -> Any:
            return of_rows.withNewChildren(jvm.seq(map(of, jvm.items(of_rows.children()))))

        is_sorted = query.getClass().getSimpleName() == "Sort"
        rows = query.child() if is_sorted else query
        shown = jvm.seq(replacements.get(c.exprId().id(), c) for c in jvm.items(rows.output()))
        projected = jvm.new(f"{CATALYST}.plans.logical.Project", shown, rows)
        if not is_sorted:
            return projected
        orders = jvm.seq(map(order, jvm.items(query.order())))
        return jvm.new(f"{CATALYST}.plans.logical.Sort", orders, getattr(query, "global")(), projected, query.hint())

    def _null_if_empty(self, column: Any) -> Any:
        jvm = self.jvm
        literals, kind = jvm.singleton(f"{_EXPRESSIONS}.Literal"), column.dataType()
        is_empty = jvm.new(f"{_EXPRESSIONS}.EqualTo", column, literals.create("", kind))
        value = jvm.new(f"{_EXPRESSIONS}.If", is_empty, literals.create(None, kind), column)
        named = jvm.singleton(f"{_EXPRESSIONS}.NamedExpression").newExprId()
        return jvm.new(f"{_EXPRESSIONS}.Alias", value, column.name(), named, column.qualifier(), jvm.none, jvm.seq([]))


def _is_string(column: Any) -> bool:
    return str(column.dataType().typeName()) == "string"
