"""Compiled rules and replacements of nodes (decision 9), and transformation of plans and expressions in Python.

Spark applies its rules to every statement, some of them many times, and a call of Python costs about as much as a small
rule of Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from paimon_sql.spark.java.catalyst import Expression, LogicalPlan, TreeNode
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, EXPRESSIONS, PLANS, Jvm
from paimon_sql.spark.jvm.proxy import Proxy, ScalaFunction
from paimon_sql.spark.jvm.session import JvmSession

NODE = f"{CATALYST}.trees.TreeNode"
LOGICAL_PLAN = f"{PLANS}.LogicalPlan"
_RULE = f"{CATALYST}.rules.Rule"
_HANDLER = "javassist.util.proxy.MethodHandler"
_ANSWERS = "answers"


Rewrite = Callable[[LogicalPlan], LogicalPlan]


@dataclass(eq=False)
class Rule(ABC):
    """A rule that rewrites plans.

    Attributes:
        session: the session of the plans; it may be under construction.
    """

    session: JvmSession

    @property
    def jvm(self) -> Jvm:
        """The JVM."""
        return self.session.jvm

    @abstractmethod
    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        """The rewritten plan; the same object if there is nothing to change."""


def compiled_rule(jvm: Jvm, name: str, condition: Sequence[str], answer: Rewrite, **fields: object) -> JavaObject:
    """A new rule that returns most plans unchanged and calls Python for the others.

    Args:
        jvm: the JVM.
        name: the full name of the rule's class.
        condition: Java source of members of the class; the last, a method ``matches``, decides whether Python is
            called for a plan.
        answer: rewrites a plan; returns the same object if there is nothing to change.
        fields: values of public fields among the members.
    """
    members = (
        f"public volatile {_HANDLER} {_ANSWERS};",
        *condition,
        f"""
            public {NODE} apply({NODE} plan) {{
                return matches(plan) ? ({NODE}) {_ANSWERS}.invoke(plan, null, null, null) : plan;
            }}""",
    )
    made = jvm.compiled_class(name, members, beside=_RULE, parent=_RULE)
    return jvm.compiled_object(made, **fields, **{_ANSWERS: _Answers(jvm, answer)})


@dataclass(eq=False)
class _Answers(Proxy):
    """The Python side of a compiled rule: a ``MethodHandler``, since its interface declares any exception."""

    implements = [_HANDLER]

    answer: Rewrite

    def invoke(self, plan: LogicalPlan, *_: object) -> LogicalPlan:
        return self.answer(plan)


_FUNCTION = "scala.runtime.AbstractPartialFunction"
_MEMBERS = (
    "public boolean isDefinedAt(Object node) { return instead(node) != null; }",
    """
        public Object applyOrElse(Object node, scala.Function1 otherwise) {
            Object other = instead(node);
            return other == null ? otherwise.apply(node) : other;
        }""",
)


def compiled_exchange(jvm: Jvm, name: str, instead: Sequence[str], **fields: object) -> JavaObject:
    """A Scala partial function from node to node, for ``transformUp`` and ``transformAllExpressions``.

    Args:
        jvm: the JVM.
        name: the full name of the function's class.
        instead: Java source of members of the class; the last, a method ``instead``, returns the replacement of a
            node, null to keep it.
        fields: values of public fields among the members.
    """
    made = jvm.compiled_class(name, (*instead, *_MEMBERS), beside=NODE, parent=_FUNCTION)
    return jvm.compiled_object(made, **fields)


N = TypeVar("N", bound=TreeNode)

_EXPRESSION = f"{EXPRESSIONS}.Expression"


def with_children(jvm: Jvm, node: N, change: Callable[[N], N]) -> N:
    """A plan or an expression with its children changed; the same object if none changes."""
    return _over(jvm, node, change)[0]


def transform_up(
    jvm: Jvm, plan: LogicalPlan, change: Callable[[LogicalPlan, Sequence[LogicalPlan]], LogicalPlan]
) -> LogicalPlan:
    """A plan with its nodes changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: the replacement of a node, from the node over its changed children and these; the same node to keep it.
    """
    return change(*_over(jvm, plan, lambda child: transform_up(jvm, child, change)))


def with_expressions(jvm: Jvm, plan: LogicalPlan, change: Callable[[Expression], Expression]) -> LogicalPlan:
    """A plan with the expressions of its root node changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: the replacement of an expression; the same object to keep it.
    """

    def changed(expression: Expression) -> Expression:
        return change(with_children(jvm, expression, changed))

    return plan.mapExpressions(ScalaFunction(jvm, changed))


def expression_condition(is_one: str) -> tuple[str, str]:
    """Members of a compiled rule that calls Python for plans with certain expressions (`compiled_rule`).

    Args:
        is_one: Java source of the body of a method that returns whether ``expression`` is one of them.
    """
    return (
        f"private boolean isOne({_EXPRESSION} expression) {{ {is_one} }}",
        f"""
            private boolean matches({NODE} node) {{
                if (node instanceof {_EXPRESSION} && isOne(({_EXPRESSION}) node)) return true;
                scala.collection.Iterator below = node.children().iterator();
                if (node instanceof {LOGICAL_PLAN}) {{
                    // What a leaf holds is of no other rows.
                    if (!below.hasNext()) return false;
                    scala.collection.Iterator own = (({LOGICAL_PLAN}) node).expressions().iterator();
                    while (own.hasNext()) if (matches(({NODE}) own.next())) return true;
                }}
                while (below.hasNext()) if (matches(({NODE}) below.next())) return true;
                return false;
            }}""",
    )


def _over(jvm: Jvm, node: N, change: Callable[[N], N]) -> tuple[N, list[N]]:
    """A node over its changed children, and these."""
    children = jvm.items(node.children())
    made = [change(child) for child in children]
    if any(new is not old for new, old in zip(made, children, strict=True)):
        node = node.withNewChildren(jvm.seq(made))
    return node, made
