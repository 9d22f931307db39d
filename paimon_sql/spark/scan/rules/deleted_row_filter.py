"""Dead rows where Spark's own reader reads: a filter that looks at one bit of each row.

It stands in the query's own filter, if there is one, behind the conditions that fail for no values: these leave few
rows whose bits are to be looked at. Other conditions stand behind it, as they must not see the values of dead rows.
"""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.rules.node_exchange import compiled_exchange
from paimon_sql.spark.rules.optimizer import PlanRule, new_attribute, with_parts, with_scans
from paimon_sql.spark.scan.proxies.deletion_mask import DEAD, POSITION
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy

_EXPRESSIONS = f"{CATALYST}.expressions"
_PLANS = f"{CATALYST}.plans.logical"
_TYPES = "org.apache.spark.sql.types"
_FILTER, _PROJECT = f"{_PLANS}.Filter", f"{_PLANS}.Project"
_EXPRESSION, _AND = f"{_EXPRESSIONS}.Expression", f"{_EXPRESSIONS}.And"
_PLAIN = (
    *("AttributeReference", "Literal", "BinaryComparison", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "InSet"),
    "StringPredicate",
)
"""The expressions that give an answer for any values."""
_FILTERS = "paimon.FiltersForDeadRows"
_IS_PLAIN = f"""
    private static boolean isPlain({_EXPRESSION} e) {{
        if (!({" || ".join(f"e instanceof {_EXPRESSIONS}.{name}" for name in _PLAIN)})) return false;
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
    """Puts Spark's own reader and a filter in the place of a scan by Python workers that offers it.

    A session without the rule reads rightly all the same, only by Python workers.
    """

    reads_scans = True

    def rewritten(self, plan: Any) -> Any:
        if not PlannedScanProxy.with_native_twin:
            return plan
        return with_scans(self.jvm, plan, self._natively, self._behind_conditions)

    def _behind_conditions(self, plan: Any) -> Any:
        """A plan whose filters for dead rows are parts of the query's own, behind the conditions that any row may meet.

        Conditions that fail for some values must not see the values of dead rows.
        """

        def made() -> Any:
            members = (f"public {_EXPRESSION} alive;", _IS_PLAIN, _JOINED, _MERGED)
            return compiled_exchange(self.jvm, _FILTERS, members, alive=self._parts()[2])

        return plan.transformUp(self.jvm.constant("puts filters for dead rows behind conditions", made))

    def _parts(self) -> tuple[Any, Any, Any]:
        # They are seen nowhere above, so that all scans may have the same.
        parts: tuple[Any, Any, Any] = self.jvm.constant("parts of a filter for dead rows", self._filter_parts)
        return parts

    def _natively(self, relation: Any, scan: Any) -> Any | None:
        if not isinstance(scan, PlannedScanProxy) or scan.native_twin is None:
            return None
        jvm = self.jvm
        output = relation.output()
        position, dead, is_alive = self._parts()
        wider = with_parts(jvm, relation, scan=scan.native_twin, output=output.appended(position).appended(dead))
        alive = jvm.new(f"{_PLANS}.Filter", is_alive, wider)
        return jvm.new(f"{_PLANS}.Project", output, alive)

    def _filter_parts(self) -> tuple[Any, Any, Any]:
        position, dead = (
            new_attribute(self.jvm, f["name"], f["type"], nullable=f["nullable"]) for f in (POSITION, DEAD)
        )
        return position, dead, self._alive(position, dead)

    def _alive(self, position: Any, dead: Any) -> Any:
        """Whether a row is alive: its file has no dead rows, or they end before it, or its bit is not set."""
        jvm = self.jvm
        # A reader that does not fill positions must not pass for one whose rows are all alive.
        known = jvm.new(f"{_EXPRESSIONS}.objects.AssertNotNull", position, jvm.seq([]))
        index = self._int(jvm.new(f"{_EXPRESSIONS}.ShiftRight", known, self._literal(3)))
        bit = jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", self._int(known), self._literal(7))
        byte = self._byte(dead, index)
        shifted = jvm.new(f"{_EXPRESSIONS}.ShiftRight", byte, bit)
        clear = self._equal(jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", shifted, self._literal(1)), self._literal(0))
        past_end = jvm.new(f"{_EXPRESSIONS}.GreaterThanOrEqual", index, jvm.new(f"{_EXPRESSIONS}.OctetLength", dead))
        return jvm.new(f"{_EXPRESSIONS}.Or", past_end, clear)

    def _byte(self, of: Any, index: Any) -> Any:
        """One byte of a binary value as an int."""
        jvm, objects = self.jvm, f"{_EXPRESSIONS}.objects"
        buffer = jvm.java_class("java.nio.ByteBuffer")
        kind = jvm.new(f"{_TYPES}.ObjectType", buffer)
        nothing = jvm.seq([])
        wrapped = jvm.new(
            f"{objects}.StaticInvoke", buffer, kind, "wrap", jvm.seq([of]), nothing, True, False, True, jvm.none
        )
        byte_type = jvm.cls(f"{_TYPES}.DataTypes").ByteType
        return self._int(
            jvm.new(f"{objects}.Invoke", wrapped, "get", byte_type, jvm.seq([index]), nothing, True, False, True)
        )

    def _equal(self, left: Any, right: Any) -> Any:
        return self.jvm.new(f"{_EXPRESSIONS}.EqualTo", left, right)

    def _literal(self, value: int) -> Any:
        return self.jvm.singleton(f"{_EXPRESSIONS}.Literal").apply(value)

    def _int(self, expression: Any) -> Any:
        """A number as an int, without a look at whether it is one: no file has so many rows."""
        jvm = self.jvm
        as_it_was = jvm.singleton(f"{_EXPRESSIONS}.EvalMode").LEGACY()
        return jvm.new(
            f"{_EXPRESSIONS}.Cast", expression, jvm.cls(f"{_TYPES}.DataTypes").IntegerType, jvm.none, as_it_was
        )
