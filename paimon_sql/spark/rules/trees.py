"""Transformation of Spark's plans and expressions, node by node, in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, JavaObject, Jvm
from paimon_sql.spark.rules.compiled_rule import NODE

_EXPRESSION = f"{CATALYST}.expressions.Expression"
_PLAN = f"{CATALYST}.plans.logical.LogicalPlan"


def with_children(jvm: Jvm, node: Any, change: Callable[[Any], Any]) -> Any:
    """A plan or an expression with its children changed; the same object if none changes."""
    return _over(jvm, node, change)[0]


def transform_up(jvm: Jvm, plan: Any, change: Callable[[Any, Sequence[Any]], Any]) -> Any:
    """A plan with its nodes changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: the replacement of a node, from the node over its changed children and these; the same node to keep it.
    """
    return change(*_over(jvm, plan, lambda child: transform_up(jvm, child, change)))


def with_expressions(jvm: Jvm, plan: Any, change: Callable[[Any], Any]) -> Any:
    """A plan with the expressions of its root node changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: the replacement of an expression; the same object to keep it.
    """

    def changed(expression: Any) -> Any:
        return change(with_children(jvm, expression, changed))

    return plan.mapExpressions(_Function(jvm, changed))


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
                if (node instanceof {_PLAN}) {{
                    // What a leaf holds is of no other rows.
                    if (!below.hasNext()) return false;
                    scala.collection.Iterator own = (({_PLAN}) node).expressions().iterator();
                    while (own.hasNext()) if (matches(({NODE}) own.next())) return true;
                }}
                while (below.hasNext()) if (matches(({NODE}) below.next())) return true;
                return false;
            }}""",
    )


def _over(jvm: Jvm, node: Any, change: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """A node over its changed children, and these."""
    children = jvm.items(node.children())
    made = [change(child) for child in children]
    if any(new is not old for new, old in zip(made, children, strict=True)):
        node = node.withNewChildren(jvm.seq(made))
    return node, made


class _Function(JavaObject):
    """A Scala function from expression to expression."""

    def __init__(self, jvm: Jvm, change: Callable[[Any], Any]) -> None:
        super().__init__(jvm)
        self._change = change

    def apply(self, expression: Any) -> Any:
        return self._change(expression)

    class Java:
        implements = ["scala.Function1"]
