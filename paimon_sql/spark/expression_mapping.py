"""Expressions of a plan changed one by one, by Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paimon_sql.spark.java import JavaObject, Jvm


def with_expressions(jvm: Jvm, plan: Any, change: Callable[[Any], Any]) -> Any:
    """A plan whose own expressions, and what they are made of, are changed from the bottom up.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        change: what stands for an expression; the same object if nothing else does.
    """

    def changed(expression: Any) -> Any:
        children = jvm.items(expression.children())
        made = [changed(child) for child in children]
        if any(new is not old for new, old in zip(made, children, strict=True)):
            expression = expression.withNewChildren(jvm.seq(made))
        return change(expression)

    return plan.mapExpressions(_Function(jvm, changed))


class _Function(JavaObject):
    """A function of Scala's, from an expression to another one."""

    def __init__(self, jvm: Jvm, change: Callable[[Any], Any]) -> None:
        super().__init__(jvm)
        self._change = change

    def apply(self, expression: Any) -> Any:
        return self._change(expression)

    class Java:
        implements = ["scala.Function1"]
