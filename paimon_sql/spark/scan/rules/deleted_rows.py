"""A rule that lets Spark's own reader read tables with dead rows: a filter above it drops them by a deletion mask.

If the query has a filter, the mask becomes part of it: after the conditions that cannot fail, which leave fewer bits to
test, and before the others, which must not see the values of masked rows.
"""

from __future__ import annotations

from paimon_sql.spark.conversion.types import FieldJson
from paimon_sql.spark.java.catalyst import Attribute, Expression, LogicalPlan
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import EXPRESSIONS, PLANS, TYPES, Jvm
from paimon_sql.spark.rules.compiled_rule import compiled_exchange
from paimon_sql.spark.rules.optimizer import PlanRule, invoked, new_attribute, new_literal, with_parts, with_scans
from paimon_sql.spark.scan.proxies.deletion_mask import POSITION, MaskColumn, MaskedScanProxy
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy, scans_with_native_twin

_FILTER, _PROJECT = f"{PLANS}.Filter", f"{PLANS}.Project"
_POSITION = f"{EXPRESSIONS}.NamedExpression"
_EXPRESSION, _AND = f"{EXPRESSIONS}.Expression", f"{EXPRESSIONS}.And"
_SAFE = (
    *("AttributeReference", "Literal", "BinaryComparison", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "InSet"),
    "StringPredicate",
)
"""The expressions that do not fail for any values."""
_FILTERS = "paimon.FiltersForDeadRows"
_IS_SAFE = f"""
    private static boolean isPlain({_EXPRESSION} e) {{
        if (!({" || ".join(f"e instanceof {EXPRESSIONS}.{name}" for name in _SAFE)})) return false;
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
        if (!below.condition().references().contains(this.position)) return null;
        if (!filter.condition().deterministic()) return null;
        {_EXPRESSION}[] both = new {_EXPRESSION}[] {{ null, below.condition() }};
        join(filter.condition(), both);
        {_EXPRESSION} all = both[0] == null ? both[1] : new {_AND}(both[0], both[1]);
        return new {_PROJECT}(project.projectList(), new {_FILTER}(all, below.child()));
    }}"""


class DeletedRowFilter(PlanRule):
    """Replaces a scan by Python workers that has a native twin with Spark's own reader and a filter.

    A session without the rule reads the same rows, by Python workers.
    """

    reads_scans = True

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        if not scans_with_native_twin():
            return plan
        return with_scans(self.jvm, plan, self._masked, self._merged_filters)

    def _merged_filters(self, plan: LogicalPlan) -> LogicalPlan:
        """A plan with each mask filter merged into the query's own filter, after the conditions that cannot fail.

        Conditions that fail for some values must not see the values of masked rows.
        """

        def compiled() -> JavaObject:
            members = (f"public {_POSITION} position;", _IS_SAFE, _JOINED, _MERGED)
            return compiled_exchange(self.jvm, _FILTERS, members, position=self._position)

        return plan.transformUp(self.jvm.constant("puts filters for dead rows behind conditions", compiled))

    @property
    def _position(self) -> Attribute:
        # The attribute is not visible above the filter, so all scans can share it.
        return self.jvm.constant("position of a row in its file", lambda: _attribute(self.jvm, POSITION))

    def _condition(self, mask: MaskColumn) -> tuple[Attribute, Expression]:
        """The column of a mask, and the condition of live rows over it."""

        def made() -> tuple[Attribute, Expression]:
            column = _attribute(self.jvm, mask.field)
            return column, self._is_live(mask.bits(self.jvm, column))

        return self.jvm.constant("condition of live rows", made) if mask.in_batches else made()

    def _masked(self, relation: LogicalPlan, scan: object) -> LogicalPlan | None:
        if not isinstance(scan, PlannedScanProxy) or not isinstance(scan.native_twin, MaskedScanProxy):
            return None
        jvm, twin = self.jvm, scan.native_twin
        output = relation.output()
        column, is_live = self._condition(twin.mask_column)
        wider = with_parts(jvm, relation, scan=twin, output=output.appended(self._position).appended(column))
        filtered = jvm.new(f"{PLANS}.Filter", is_live, wider)
        return jvm.new(f"{PLANS}.Project", output, filtered)

    def _is_live(self, bits: Expression) -> Expression:
        """The condition of live rows: the bits of the file end before the row, or its bit is not set."""
        jvm = self.jvm
        # If the reader does not fill positions the query must fail, not return masked rows.
        known: Expression = jvm.new(f"{EXPRESSIONS}.objects.AssertNotNull", self._position, jvm.nil)
        index = self._int(jvm.new(f"{EXPRESSIONS}.ShiftRight", known, new_literal(jvm, 3)))
        bit = jvm.new(f"{EXPRESSIONS}.BitwiseAnd", self._int(known), new_literal(jvm, 7))
        byte = self._byte(bits, index)
        shifted: Expression = jvm.new(f"{EXPRESSIONS}.ShiftRight", byte, bit)
        tested = jvm.new(f"{EXPRESSIONS}.BitwiseAnd", shifted, new_literal(jvm, 1))
        clear = jvm.new(f"{EXPRESSIONS}.EqualTo", tested, new_literal(jvm, 0))
        past_end = jvm.new(f"{EXPRESSIONS}.GreaterThanOrEqual", index, jvm.new(f"{EXPRESSIONS}.OctetLength", bits))
        return jvm.new(f"{EXPRESSIONS}.Or", past_end, clear)

    def _byte(self, binary: Expression, index: Expression) -> Expression:
        """One byte of a binary value as an int."""
        jvm, buffer = self.jvm, self.jvm.java_class("java.nio.ByteBuffer")
        kind = jvm.new(f"{TYPES}.ObjectType", buffer)
        arguments = (buffer, kind, "wrap", jvm.seq([binary]), jvm.nil, True, False, True, jvm.none)
        wrapped: Expression = jvm.new(f"{EXPRESSIONS}.objects.StaticInvoke", *arguments)
        return self._int(invoked(jvm, wrapped, "get", "ByteType", [index]))

    def _int(self, expression: Expression) -> Expression:
        """A number cast to int without a check for overflow: no file has so many rows."""
        jvm = self.jvm
        legacy = jvm.singleton(f"{EXPRESSIONS}.EvalMode").LEGACY()
        return jvm.new(f"{EXPRESSIONS}.Cast", expression, jvm.cls(f"{TYPES}.DataTypes").IntegerType, jvm.none, legacy)


def _attribute(jvm: Jvm, field: FieldJson) -> Attribute:
    return new_attribute(jvm, field["name"], field["type"], nullable=field["nullable"])
