"""Optimizer rules: applied to optimized plans, on the driver only.

To Spark all of them are one compiled rule (decision 9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from paimon_sql.spark.conversion.types import TypeJson
from paimon_sql.spark.java.catalyst import Attribute, Expression, ExprId, LogicalPlan
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, DATASOURCES, EXPRESSIONS, TYPES, Jvm
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.compiled_rule import LOGICAL_PLAN, NODE, Rewrite, Rule, compiled_rule, with_children

SCAN = "DataSourceV2ScanRelation"
"""The simple class name of the leaves that scan tables."""
_CLASS = "paimon.PlanRule"
_RELATION, _LOCAL = f"{DATASOURCES}.v2.{SCAN}", f"{CONNECTOR}.read.LocalScan"
_CONDITION = (
    "public volatile java.util.Set roots;",
    "public volatile boolean scans;",
    f"""
        private boolean matches({NODE} plan) {{
            if (this.roots.contains(plan.getClass().getSimpleName())) return true;
            if (!this.scans) return false;
            scala.collection.Iterator leaves = plan.collectLeaves().iterator();
            while (leaves.hasNext()) {{
                Object leaf = leaves.next();
                if (leaf instanceof {_RELATION} && !((({_RELATION}) leaf).scan() instanceof {_LOCAL})) return true;
            }}
            return false;
        }}""",
)
_LEAVES = "paimon.PlanLeaves"
_BELOW = f"""
    private static {LOGICAL_PLAN} below({LOGICAL_PLAN} plan, java.util.Map instead, int[] next) {{
        scala.collection.Iterator children = plan.children().iterator();
        if (!children.hasNext()) {{
            Object other = instead.get(Integer.valueOf(next[0]++));
            return other == null ? plan : ({LOGICAL_PLAN}) other;
        }}
        java.util.ArrayList made = new java.util.ArrayList();
        boolean touched = false;
        while (children.hasNext()) {{
            {LOGICAL_PLAN} child = ({LOGICAL_PLAN}) children.next();
            {LOGICAL_PLAN} other = below(child, instead, next);
            touched |= other != child;
            made.add(other);
        }}
        if (!touched) return plan;
        return ({LOGICAL_PLAN}) plan.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(made).toSeq());
    }}"""
_REPLACED = f"""
    public static {LOGICAL_PLAN} replaced({LOGICAL_PLAN} plan, java.util.Map instead) {{
        return below(plan, instead, new int[1]);
    }}"""


class PlanRule(Rule):
    """A rule that rewrites optimized plans, after their scans are built.

    Attributes:
        roots: the simple class names of the root nodes of plans that it applies to.
        reads_scans: whether it also applies to all plans that scan tables, unless the driver has read all rows.
    """

    roots: ClassVar[frozenset[str]] = frozenset()
    reads_scans: ClassVar[bool] = False


def add_rules(session: JvmSession, rules: Sequence[PlanRule]) -> None:
    """Add rules to the optimizer of a session, after its existing rules.

    They form one rule of Spark, so that Python is called once per plan.
    """
    jvm, roots = session.jvm, frozenset[str]().union(*(rule.roots for rule in rules))

    def answer(plan: LogicalPlan) -> LogicalPlan:
        root = plan.getClass().getSimpleName() if roots else ""
        for rule in rules:
            if rule.reads_scans or root in rule.roots:
                plan = rule.rewrite(plan)
        return plan

    methods = session.state.experimentalMethods()
    optimizations: Seq[JavaObject] = methods.extraOptimizations()
    known = jvm.items(optimizations)
    scans = any(rule.reads_scans for rule in rules)
    made = compiled_rule(jvm, _CLASS, _CONDITION, answer, roots=jvm.java_set(roots), scans=scans)
    getattr(methods, "extraOptimizations_$eq")(jvm.seq([*known, made]))


def ensure_rule(session: JvmSession, kind: type[PlanRule]) -> None:
    """Add a rule to a session that lacks it; call this before a plan is optimized."""
    key = f"{kind.__name__} of {session.java.sessionUUID()}"
    session.jvm.constant(key, lambda: add_rules(session, [kind(session)]))


def scans_of(jvm: Jvm, plan: LogicalPlan) -> Iterator[tuple[int, LogicalPlan]]:
    """The scans of tables in a plan, each with its position among the leaves."""
    kind = jvm.java_class(f"{DATASOURCES}.v2.{SCAN}")
    for number, leaf in enumerate(jvm.items(plan.collectLeaves())):
        if kind.isInstance(leaf):
            yield number, leaf


def with_scans(
    jvm: Jvm,
    plan: LogicalPlan,
    instead: Callable[[LogicalPlan, object], LogicalPlan | None],
    then: Rewrite = lambda plan: plan,
) -> LogicalPlan:
    """A plan with some scans replaced, including those in subqueries of filters (`with_subqueries`).

    Args:
        jvm: the JVM.
        plan: an optimized plan.
        instead: the replacement of a relation, from the relation and the Python object behind its scan; None keeps it.
        then: applied to each plan, or plan of a subquery, in which scans were replaced.
    """
    found = ((number, instead(leaf, python_object(jvm, leaf.scan()))) for number, leaf in scans_of(jvm, plan))
    leaves = {number: made for number, made in found if made is not None}
    made = then(with_leaves(jvm, plan, leaves)) if leaves else plan
    return with_subqueries(jvm, made, lambda inner: with_scans(jvm, inner, instead, then))


def with_leaves(jvm: Jvm, plan: LogicalPlan, instead: dict[int, LogicalPlan]) -> LogicalPlan:
    """A plan with some of its leaves replaced.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        instead: replacements by the position of the leaf in ``collectLeaves``.
    """
    jvm.compiled_class(_LEAVES, (_BELOW, _REPLACED), beside=LOGICAL_PLAN)
    return jvm.static(_LEAVES, "replaced")(plan, jvm.java_map(instead))


def with_subqueries(jvm: Jvm, plan: LogicalPlan, rewritten: Rewrite) -> LogicalPlan:
    """A plan with the subqueries of its filters rewritten.

    These are the subqueries that Spark made of optimized plans: dynamic partition pruning and bloom filters of joins.
    Spark does not optimize them again, and reuses the rows of a join's other side only if both plans are equal.
    """
    pattern = jvm.singleton(f"{CATALYST}.trees.TreePattern").PLAN_EXPRESSION()
    return _InFilters(jvm, pattern, rewritten).of(plan) if plan.containsPattern(pattern) else plan


def new_id(jvm: Jvm) -> ExprId:
    """A new id of a column."""
    return jvm.singleton(f"{EXPRESSIONS}.NamedExpression").newExprId()


def new_attribute(jvm: Jvm, name: str, kind: TypeJson, *, nullable: bool = True) -> Attribute:
    """An attribute with a new id; `kind` is a type in Spark's JSON form."""
    metadata = jvm.singleton(f"{TYPES}.Metadata").empty()
    members = (name, jvm.struct(kind), nullable, metadata, new_id(jvm), jvm.nil)
    return jvm.new(f"{EXPRESSIONS}.AttributeReference", *members)


def new_alias(jvm: Jvm, value: Expression, name: str, identity: ExprId, *more: object) -> Attribute:
    """An expression with a name and an id; ``more`` are its qualifier and its metadata, by default none."""
    qualifier, metadata = more or (jvm.nil, jvm.none)
    members = (value, name, identity, qualifier, metadata, jvm.nil)
    return jvm.new(f"{EXPRESSIONS}.Alias", *members)


def new_literal(jvm: Jvm, value: int | str) -> Expression:
    """A constant."""
    return jvm.singleton(f"{EXPRESSIONS}.Literal").apply(value)


def object_literal(jvm: Jvm, value: JavaObject, kind: str) -> Expression:
    """A Java object as a constant, of the class of that full name; it is serialized with the plan's tasks."""
    return jvm.new(f"{EXPRESSIONS}.Literal", value, jvm.new(f"{TYPES}.ObjectType", jvm.java_class(kind)))


def invoked(jvm: Jvm, target: Expression, method: str, kind: str, arguments: Sequence[Expression]) -> Expression:
    """The result of a Java method, which is never null, of a member of ``DataTypes``; null only of null arguments."""
    members = (target, method, getattr(jvm.cls(f"{TYPES}.DataTypes"), kind), jvm.seq(arguments), jvm.nil)
    return jvm.new(f"{EXPRESSIONS}.objects.Invoke", *members, True, False, True)


def with_parts(jvm: Jvm, plan: LogicalPlan, **parts: object) -> LogicalPlan:
    """A plan with some of its members replaced by name; its other members may differ between versions of Spark."""

    def named() -> list[str]:
        return [plan.productElementName(i) for i in range(plan.productArity())]

    names = jvm.constant(f"members of {plan.getClass().getName()}", named)
    members, put = jvm.as_list(plan.productIterator().toSeq()).toArray(), jvm.static("java.lang.reflect.Array", "set")
    for name, part in parts.items():
        put(members, names.index(name), part)
    return plan.makeCopy(members)


@dataclass(frozen=True)
class _InFilters:
    """Rewriting of subqueries in a plan's filters; `pattern` is Spark's ``TreePattern`` of trees with subqueries."""

    jvm: Jvm
    pattern: object
    rewrite: Rewrite

    def of(self, plan: LogicalPlan) -> LogicalPlan:
        if not plan.containsPattern(self.pattern):
            return plan
        plan = with_children(self.jvm, plan, self.of)
        if plan.getClass().getSimpleName() == "Filter":
            return with_parts(self.jvm, plan, condition=self._condition(plan.condition()))
        return plan

    def _condition(self, expression: Expression) -> Expression:
        if not expression.containsPattern(self.pattern):
            return expression
        expression = with_children(self.jvm, expression, self._condition)
        if expression.nodePatterns().contains(self.pattern):
            expression = expression.withNewPlan(self.rewrite(expression.plan()))
        return expression
