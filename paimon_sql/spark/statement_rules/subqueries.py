"""Rules for subqueries: recursive common tables in inserts, and scalar subqueries that Spark can merge."""

from __future__ import annotations

import json

from paimon_sql.format.schema.types import ArrayType, DataField, MapType, MultisetType, RowType, VariantType
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import JavaList, JavaMethod, JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, EXPRESSIONS, OPTIONS_MAP, PLANS
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.options import ALSO_READ
from paimon_sql.spark.rules.analyzer import BEFORE_RESOLUTION, RELATION, RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.compiled_rule import LOGICAL_PLAN, NODE, compiled_exchange
from paimon_sql.spark.rules.optimizer import with_leaves, with_parts
from paimon_sql.spark.tables.data_table import TableProxy


class CommonTables(AnalysisRule):
    """Moves recursive common tables into each insert of a statement with several.

    Spark inlines other common tables. It leaves a recursive one above all inserts, but passes each write of a Paimon
    table only that table's query, which would no longer find it.
    """

    stage = BEFORE_RESOLUTION
    compiled = "paimon.CommonTablesRule"
    condition = (
        f"""
            private boolean matches({NODE} plan) {{
                if (!(plan instanceof {PLANS}.WithCTE)) return false;
                {PLANS}.WithCTE with = ({PLANS}.WithCTE) plan;
                if (!(with.plan() instanceof {PLANS}.Union)) return false;
                scala.collection.Iterator inserts = with.plan().children().iterator();
                while (inserts.hasNext()) if (!(inserts.next() instanceof {PLANS}.CTEInChildren)) return false;
                return true;
            }}""",
    )

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        union: LogicalPlan = plan.plan()
        tables = plan.cteDefs()
        inserts = [insert.withCTEDefs(tables) for insert in self.jvm.items(union.children())]
        return union.withNewChildren(self.jvm.seq(inserts))


_SCALAR = f"{EXPRESSIONS}.ScalarSubquery"
_PATTERNS = f"{CATALYST}.trees.TreePattern"
_NAME, _PART, _SUBQUERY = (chr(code) for code in (31, 30, 29))
_SUBQUERIES, _EXCHANGE = "paimon.AlikeSubqueries", "paimon.SubqueryExchange"
_NAMES = f"""
    private static void names({LOGICAL_PLAN} plan, StringBuilder text) {{
        scala.collection.Iterator each = plan.references().iterator();
        while (each.hasNext()) text.append((({EXPRESSIONS}.Attribute) each.next()).name()).append((char) 31);
    }}"""
_DESCRIBE = f"""
    public static String described({LOGICAL_PLAN} plan, java.util.List found) {{
        StringBuilder text = new StringBuilder();
        scala.collection.Iterator each = plan.subqueriesAll().iterator();
        while (each.hasNext()) {{
            Object subquery = each.next();
            if (!(subquery instanceof {PLANS}.Aggregate)) continue;
            {PLANS}.Aggregate aggregate = ({PLANS}.Aggregate) subquery;
            if (!aggregate.groupingExpressions().isEmpty()) continue;
            StringBuilder wanted = new StringBuilder(), filters = new StringBuilder();
            names(aggregate, wanted);
            {LOGICAL_PLAN} below = aggregate.child();
            while (below instanceof {PLANS}.Filter || below instanceof {PLANS}.SubqueryAlias) {{
                if (below instanceof {PLANS}.Filter) {{
                    names(below, wanted);
                    filters.append((({PLANS}.Filter) below).condition().sql()).append((char) 31);
                }}
                below = ({LOGICAL_PLAN}) (({PLANS}.UnaryNode) below).child();
            }}
            if (!(below instanceof {RELATION})) continue;
            text.append(filters).append((char) 30).append(wanted).append((char) 29);
            found.add(subquery);
            found.add(below);
        }}
        return text.toString();
    }}"""
_REPLACEMENT = f"""
    private Object instead(Object expression) {{
        if (!(expression instanceof {_SCALAR})) return null;
        Object other = this.plans.get((({_SCALAR}) expression).plan());
        return other == null ? null : (({_SCALAR}) expression).withNewPlan(({LOGICAL_PLAN}) other);
    }}"""
_CONDITION = f"private boolean matches({NODE} plan) {{ return plan.containsPattern({_PATTERNS}.SCALAR_SUBQUERY()); }}"


class ShareSubqueryColumns(AnalysisRule):
    """Makes scalar subqueries with the same rows of a Paimon table read the columns of all of them.

    Spark merges ``(SELECT count(*) FROM t WHERE a > 1)`` and ``(SELECT avg(b) FROM t WHERE a > 1)`` if their scans are
    equal. Spark prunes the columns of its own file scans after the merge, but those of catalog tables before it.
    """

    stage = RESOLUTION
    compiled = "paimon.AlikeSubqueriesRule"
    condition = (_CONDITION,)

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        if not plan.resolved():
            return plan
        found: JavaList[LogicalPlan] = self.jvm.new("java.util.ArrayList")
        parts = [part.split(_PART) for part in str(self._compiled_description()(plan, found)).split(_SUBQUERY) if part]
        by_filters: dict[str, list[tuple[int, frozenset[str]]]] = {}
        for number, (filters, names) in enumerate(parts):
            by_filters.setdefault(filters, []).append((number, frozenset(filter(None, names.split(_NAME)))))
        replacements: dict[LogicalPlan, LogicalPlan] = {}
        for subqueries in by_filters.values():
            if len({names for _, names in subqueries}) > 1:
                replacements |= self._sharing_columns(found, subqueries)
        return plan.transformAllExpressions(self._exchange(replacements)) if replacements else plan

    def _sharing_columns(
        self, found: JavaList[LogicalPlan], subqueries: list[tuple[int, frozenset[str]]]
    ) -> dict[LogicalPlan, LogicalPlan]:
        """The replacements of subqueries with the same filters that read one table with the same options.

        Args:
            found: subqueries and their relations, alternating.
            subqueries: the numbers of subqueries, with the columns that they need.
        """
        by_table: dict[tuple[object, ...], list[tuple[LogicalPlan, LogicalPlan, frozenset[str]]]] = {}
        for number, names in subqueries:
            subquery, relation = found.get(2 * number), found.get(2 * number + 1)
            proxy = python_object(self.jvm, relation.table())
            if not isinstance(proxy, TableProxy) or relation.options().get(ALSO_READ) is not None:
                continue
            if _are_plain(proxy.table.schema.fields, names):
                options = str(relation.options().asCaseSensitiveMap().toString())
                key = (proxy.table.path, proxy.table.branch, options)
                by_table.setdefault(key, []).append((subquery, relation, names))
        replaced = {}
        for group in by_table.values():
            columns = frozenset[str]().union(*(names for *_, names in group))
            for subquery, relation, _ in group if len({names for *_, names in group}) > 1 else ():
                entries = self.jvm.new("java.util.HashMap", relation.options().asCaseSensitiveMap())
                entries.put(ALSO_READ, json.dumps(sorted(columns)))
                given = self.jvm.new(OPTIONS_MAP, entries)
                replaced[subquery] = with_leaves(self.jvm, subquery, {0: with_parts(self.jvm, relation, options=given)})
        return replaced

    def _compiled_description(self) -> JavaMethod:
        self.jvm.compiled_class(_SUBQUERIES, (_NAMES, _DESCRIBE), beside=LOGICAL_PLAN)
        return self.jvm.static(_SUBQUERIES, "described")

    def _exchange(self, replacements: dict[LogicalPlan, LogicalPlan]) -> JavaObject:
        """The Java function that replaces the plans of scalar subqueries."""
        plans = self.jvm.new("java.util.IdentityHashMap")
        for old, new in replacements.items():
            plans.put(old, new)
        return compiled_exchange(self.jvm, _EXCHANGE, ("public java.util.Map plans;", _REPLACEMENT), plans=plans)


def _are_plain(fields: tuple[DataField, ...], names: frozenset[str]) -> bool:
    """Whether all columns are the table's own, and none is nested: parts of those can be read separately."""
    kinds = {f.name: f.type for f in fields}
    nested = (ArrayType, MapType, MultisetType, RowType, VariantType)
    return all(name in kinds and not isinstance(kinds[name], nested) for name in names)
