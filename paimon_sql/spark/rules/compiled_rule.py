"""Compiled rules: Java conditions that decide whether a rule in Python is called for a plan (decision 9).

Spark applies its rules to every statement, some of them many times, and a call of Python costs about as much as a small
rule of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paimon_sql.spark.jvm.compiled_class import compiled_class, compiled_object
from paimon_sql.spark.jvm.gateway import CATALYST, JavaObject, Jvm

NODE = f"{CATALYST}.trees.TreeNode"
_RULE = f"{CATALYST}.rules.Rule"
_HANDLER = "javassist.util.proxy.MethodHandler"
_ANSWERS = "answers"


def compiled_rule(jvm: Jvm, name: str, condition: Sequence[str], answer: Callable[[Any], Any], **fields: Any) -> Any:
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
    made = compiled_class(jvm, name, members, beside=_RULE, parent=_RULE)
    return compiled_object(jvm, made, **fields, **{_ANSWERS: _Answers(jvm, answer)})


class _Answers(JavaObject):
    """The Python side of a compiled rule: a ``MethodHandler``, since its interface declares any exception."""

    def __init__(self, jvm: Jvm, answer: Callable[[Any], Any]) -> None:
        super().__init__(jvm)
        self._answer = answer

    def invoke(self, plan: Any, *_: Any) -> Any:
        return self._answer(plan)

    class Java:
        implements = [_HANDLER]
