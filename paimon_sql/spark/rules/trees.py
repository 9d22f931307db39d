"""Spark's plans and expressions changed node by node, by Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, JavaObject, Jvm
from paimon_sql.spark.rules.compiled_rule import NODE

_EXPRESSION = f"{CATALYST}.expressions.Expression"
_PLAN = f"{CATALYST}.plans.logical.LogicalPlan"


def with_children(jvm: Jvm, node: Any, change: Callable[[Any], Any]) -> Any:
    """A plan or an expression whose children are changed; the same object if none of them is."""
    return _over(jvm, node, change)[0]


def from_below(jvm: Jvm, plan: Any, change: Callable[[Any, Sequence[Any]], Any]) -> Any:
    """A plan whose nodes are changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: what stands for a plan with these children, which are changed; the same object if nothing else does.
    """
    return change(*_over(jvm, plan, lambda child: from_below(jvm, child, change)))


def with_expressions(jvm: Jvm, plan: Any, change: Callable[[Any], Any]) -> Any:
    """A plan whose own expressions, and what they are made of, are changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: what stands for an expression; the same object if nothing else does.
    """

    def changed(expression: Any) -> Any:
        return change(with_children(jvm, expression, changed))

    return plan.mapExpressions(_Function(jvm, changed))


def asks_for(is_one: str) -> tuple[str, str]:
    """Members of a compiled rule that asks Python for plans which hold an expression (`compiled_rules`).

    Args:
        is_one: the body, in Java's words, of a method that says of ``expression`` whether it is such a one.
    """
    return (
        f"private boolean isOne({_EXPRESSION} expression) {{ {is_one} }}",
        f"""
            private boolean asks({NODE} node) {{
                if (node instanceof {_EXPRESSION} && isOne(({_EXPRESSION}) node)) return true;
                scala.collection.Iterator below = node.children().iterator();
                if (node instanceof {_PLAN}) {{
                    // What a leaf holds is of no other rows.
                    if (!below.hasNext()) return false;
                    scala.collection.Iterator own = (({_PLAN}) node).expressions().iterator();
                    while (own.hasNext()) if (asks(({NODE}) own.next())) return true;
                }}
                while (below.hasNext()) if (asks(({NODE}) below.next())) return true;
                return false;
            }}""",
    )


def _over(jvm: Jvm, node: Any, change: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """A node over changed children, and these."""
    children = jvm.items(node.children())
    made = [change(child) for child in children]
    if any(new is not old for new, old in zip(made, children, strict=True)):
        node = node.withNewChildren(jvm.seq(made))
    return node, made


class _Function(JavaObject):
    """A function of Scala's, from an expression to another one."""

    def __init__(self, jvm: Jvm, change: Callable[[Any], Any]) -> None:
        super().__init__(jvm)
        self._change = change

    def apply(self, expression: Any) -> Any:
        return self._change(expression)

    class Java:
        implements = ["scala.Function1"]
