"""Rules of ours in Spark's analysis of writes, before Spark lines rows up with the columns of their table.

Spark looks for rules that resolve hints before it resolves anything else; a rule there may exchange a whole plan. It is
asked for every statement, some of them many times over: so the few lines that say whether a plan is a write are
compiled (decision 9), and Python is asked for writes of DataFrames only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from paimon_sql.spark.java import CATALYST, JavaObject, Jvm, private_field
from paimon_sql.spark.subclass import compiled_class

_CLASS = "paimon.WriteRule"
_RULE = f"{CATALYST}.rules.Rule"
_NODE = f"{CATALYST}.trees.TreeNode"
_WRITE = f"{CATALYST}.plans.logical.V2WriteCommand"
_FUNCTION = "scala.Function1"
_ANSWERS = "answers"
_MEMBERS = (
    f"public volatile {_FUNCTION} {_ANSWERS};",
    f"""
        public {_NODE} apply({_NODE} plan) {{
            if (!(plan instanceof {_WRITE}) || !(({_WRITE}) plan).isByName()) return plan;
            return ({_NODE}) {_ANSWERS}.apply(plan);
        }}""",
)
_FIELD = "hintResolutionRules"


class WriteRule(ABC):
    """A rule that rewrites writes by name before Spark looks at their columns; their rows may not be analysed yet.

    Args:
        jvm: the JVM.
        session: the session whose writes they are.
    """

    def __init__(self, jvm: Jvm, session: Any) -> None:
        self.jvm = jvm
        self.session = session

    @abstractmethod
    def rewritten(self, write: Any) -> Any:
        """The write that stands for another one; the same object if there is nothing to change."""


class WriteRuleBuilder(JavaObject):
    """What ``SparkSessionExtensions.injectHintResolutionRule`` takes: a function from a session to its rule.

    Args:
        jvm: the JVM.
        make: makes the rule of a session; the session may be in the making.
    """

    MARK = "paimon-sql write rule builder"

    def __init__(self, jvm: Jvm, make: Callable[[Any], WriteRule]) -> None:
        super().__init__(jvm)
        self._make = make

    def toString(self) -> str:
        return self.MARK

    def apply(self, session: Any) -> Any:
        made = compiled_class(self.jvm, _CLASS, _MEMBERS, beside=_RULE, parent=_RULE)
        rule = made.getConstructors()[0].newInstance(self.jvm.array("java.lang.Object"))
        made.getField(_ANSWERS).set(rule, _Answers(self.jvm, self._make(session)))
        return rule

    class Java:
        implements = ["scala.Function1"]


class _Answers(JavaObject):
    """What the compiled lines ask."""

    def __init__(self, jvm: Jvm, rule: WriteRule) -> None:
        super().__init__(jvm)
        self._rule = rule

    def apply(self, write: Any) -> Any:
        return self._rule.rewritten(write)

    class Java:
        implements = [_FUNCTION]


def add_write_rule(jvm: Jvm, session: Any, builder: WriteRuleBuilder) -> None:
    """Give a session that exists the rule of that builder; once, however often it is called."""
    analyzer = session.sessionState().analyzer()
    field, rules = private_field(analyzer, _FIELD)
    known = jvm.items(rules)
    if not any(rule.getClass().getName() == _CLASS for rule in known):
        field.set(analyzer, jvm.seq([*known, builder.apply(session)]))
