"""Rules of Spark's of which a few compiled lines say whether Python has anything to say of a plan (decision 9).

Spark asks its rules for every statement, some of them many times over, and a question to Python costs about as much as
a small rule of Spark's own.
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


def compiled_rule(jvm: Jvm, name: str, asks: Sequence[str], answer: Callable[[Any], Any], **fields: Any) -> Any:
    """A new rule that leaves most plans as they are, and asks Python for the others.

    Args:
        jvm: the JVM.
        name: the full name of the rule's class.
        asks: members of the class in Java's words; the last, a method ``asks``, says whether Python is asked for a
            plan.
        answer: the plan that stands for another one; the same object if there is nothing to change.
        fields: values of public fields among the members.
    """
    members = (
        f"public volatile {_HANDLER} {_ANSWERS};",
        *asks,
        f"""
            public {NODE} apply({NODE} plan) {{
                return asks(plan) ? ({NODE}) {_ANSWERS}.invoke(plan, null, null, null) : plan;
            }}""",
    )
    made = compiled_class(jvm, name, members, beside=_RULE, parent=_RULE)
    return compiled_object(jvm, made, **fields, **{_ANSWERS: _Answers(jvm, answer)})


class _Answers(JavaObject):
    """What the compiled lines ask: a handler of methods, which may throw whatever Spark's own rules may."""

    def __init__(self, jvm: Jvm, answer: Callable[[Any], Any]) -> None:
        super().__init__(jvm)
        self._answer = answer

    def invoke(self, plan: Any, *_: Any) -> Any:
        return self._answer(plan)

    class Java:
        implements = [_HANDLER]
