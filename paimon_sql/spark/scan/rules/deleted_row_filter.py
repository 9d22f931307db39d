"""Deleted row filter: drops rows above Spark's own reader by a deletion mask, one bit per row.

If the query has a filter, the mask becomes part of it: after the conditions that cannot fail, which leave fewer bits to
test, and before the others, which must not see the values of masked rows.
"""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.rules.node_exchange import compiled_exchange
from paimon_sql.spark.rules.optimizer import PlanRule, new_attribute, with_parts, with_scans
from paimon_sql.spark.scan.proxies.deletion_mask import MASK, POSITION
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy

_EXPRESSIONS = f"{CATALYST}.expressions"
_PLANS = f"{CATALYST}.plans.logical"
_TYPES = "org.apache.spark.sql.types"
_FILTER, _PROJECT = f"{_PLANS}.Filter", f"{_PLANS}.Project"
_EXPRESSION, _AND = f"{_EXPRESSIONS}.Expression", f"{_EXPRESSIONS}.And"
_SAFE = (
    *("AttributeReference", "Literal", "BinaryComparison", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "InSet"),
    "StringPredicate",
)
"""The expressions that do not fail for any values."""
_FILTERS = "paimon.FiltersForDeadRows"
_IS_SAFE = f"""
    private static boolean isPlain({_EXPRESSION} e) {{
        if (!({" || ".join(f"e instanceof {_EXPRESSIONS}.{name}" for name in _SAFE)})) return false;
        scala.collection.Iterator children = e.children().iterator();
        while (children.hasNext()) if (!isPlain(({_EXPRESSION}) children.next())) return false;
        return true;
    }}"""
_JOINED = f"""
    private static void join({_EXPRESSION} e, {_EXPRESSION}[] both) {{
        if (e instanceof {_AND}) {{
            join((({_AND}) e).left(), both);
            join((({_AND}) e).right(), both);
            return;
        }}
        int which = isPlain(e) ? 0 : 1;
        both[which] = both[which] == null ? e : new {_AND}(both[which], e);
    }}"""
_MERGED = f"""
    private Object instead(Object plan) {{
        if (!(plan instanceof {_FILTER}) || !((({_FILTER}) plan).child() instanceof {_PROJECT})) return null;
        {_FILTER} filter = ({_FILTER}) plan;
        {_PROJECT} project = ({_PROJECT}) filter.child();
        if (!(project.child() instanceof {_FILTER})) return null;
        {_FILTER} below = ({_FILTER}) project.child();
        if (below.condition() != this.alive || !filter.condition().deterministic()) return null;
        {_EXPRESSION}[] both = new {_EXPRESSION}[] {{ null, this.alive }};
        join(filter.condition(), both);
        {_EXPRESSION} all = both[0] == null ? both[1] : new {_AND}(both[0], both[1]);
        return new {_PROJECT}(project.projectList(), new {_FILTER}(all, below.child()));
    }}"""


class DeletedRowFilter(PlanRule):
    """Replaces a scan by Python workers that has a native twin with Spark's own reader and a filter.

    A session without the rule reads the same rows, by Python workers.
    """

    reads_scans = True

    def rewrite(self, plan: Any) -> Any:
        if not PlannedScanProxy.with_native_twin:
            return plan
        return with_scans(self.jvm, plan, self._masked, self._merged_filters)

    def _merged_filters(self, plan: Any) -> Any:
        """A plan with each mask filter merged into the query's own filter, after the conditions that cannot fail.

        Conditions that fail for some values must not see the values of masked rows.
        """

        def compiled() -> Any:
            members = (f"public {_EXPRESSION} alive;", _IS_SAFE, _JOINED, _MERGED)
            return compiled_exchange(self.jvm, _FILTERS, members, alive=self._parts()[2])

        return plan.transformUp(self.jvm.constant("puts filters for dead rows behind conditions", compiled))

    def _parts(self) -> tuple[Any, Any, Any]:
        # The attributes are not visible above the filter, so all scans can share them.
        parts: tuple[Any, Any, Any] = self.jvm.constant("parts of a filter for dead rows", self._filter_parts)
        return parts

    def _masked(self, relation: Any, scan: Any) -> Any | None:
        if not isinstance(scan, PlannedScanProxy) or scan.native_twin is None:
            return None
        jvm = self.jvm
        output = relation.output()
        position, mask, is_live = self._parts()
        wider = with_parts(jvm, relation, scan=scan.native_twin, output=output.appended(position).appended(mask))
        filtered = jvm.new(f"{_PLANS}.Filter", is_live, wider)
        return jvm.new(f"{_PLANS}.Project", output, filtered)

    def _filter_parts(self) -> tuple[Any, Any, Any]:
        position, mask = (
            new_attribute(self.jvm, f["name"], f["type"], nullable=f["nullable"]) for f in (POSITION, MASK)
        )
        return position, mask, self._is_live(position, mask)

    def _is_live(self, position: Any, mask: Any) -> Any:
        """The condition of live rows: the mask of the file ends before the row, or its bit is not set."""
        jvm = self.jvm
        # If the reader does not fill positions the query must fail, not return masked rows.
        known = jvm.new(f"{_EXPRESSIONS}.objects.AssertNotNull", position, jvm.seq([]))
        index = self._int(jvm.new(f"{_EXPRESSIONS}.ShiftRight", known, self._literal(3)))
        bit = jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", self._int(known), self._literal(7))
        byte = self._byte(mask, index)
        shifted = jvm.new(f"{_EXPRESSIONS}.ShiftRight", byte, bit)
        clear = self._equal(jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", shifted, self._literal(1)), self._literal(0))
        past_end = jvm.new(f"{_EXPRESSIONS}.GreaterThanOrEqual", index, jvm.new(f"{_EXPRESSIONS}.OctetLength", mask))
        return jvm.new(f"{_EXPRESSIONS}.Or", past_end, clear)

    def _byte(self, binary: Any, index: Any) -> Any:
        """One byte of a binary value as an int."""
        jvm, objects = self.jvm, f"{_EXPRESSIONS}.objects"
        buffer = jvm.java_class("java.nio.ByteBuffer")
        kind = jvm.new(f"{_TYPES}.ObjectType", buffer)
        no_types = jvm.seq([])
        wrapped = jvm.new(
            f"{objects}.StaticInvoke", buffer, kind, "wrap", jvm.seq([binary]), no_types, True, False, True, jvm.none
        )
        byte_type = jvm.cls(f"{_TYPES}.DataTypes").ByteType
        return self._int(
            jvm.new(f"{objects}.Invoke", wrapped, "get", byte_type, jvm.seq([index]), no_types, True, False, True)
        )

    def _equal(self, left: Any, right: Any) -> Any:
        return self.jvm.new(f"{_EXPRESSIONS}.EqualTo", left, right)

    def _literal(self, value: int) -> Any:
        return self.jvm.singleton(f"{_EXPRESSIONS}.Literal").apply(value)

    def _int(self, expression: Any) -> Any:
        """A number cast to int without a check for overflow: no file has so many rows."""
        jvm = self.jvm
        legacy = jvm.singleton(f"{_EXPRESSIONS}.EvalMode").LEGACY()
        return jvm.new(f"{_EXPRESSIONS}.Cast", expression, jvm.cls(f"{_TYPES}.DataTypes").IntegerType, jvm.none, legacy)
