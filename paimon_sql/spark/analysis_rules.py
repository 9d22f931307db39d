"""Rules of ours in Spark's analysis of writes, before Spark lines rows up with the columns of their table.

Spark looks for rules that resolve hints before it resolves anything else; a rule there may exchange a whole plan. It is
asked for every statement, some of them many times over: so a compiled line says whether a plan is a write by name
(`compiled_rules`), and Python is asked for these only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from paimon_sql.spark.compiled_rules import NODE, compiled_rule
from paimon_sql.spark.java import CATALYST, JavaObject, Jvm, private_field

_CLASS = "paimon.WriteRule"
_WRITE = f"{CATALYST}.plans.logical.V2WriteCommand"
_ASKS = (f"private boolean asks({NODE} plan) {{ return plan instanceof {_WRITE} && (({_WRITE}) plan).isByName(); }}",)
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
        return compiled_rule(self.jvm, _CLASS, _ASKS, self._make(session).rewritten)

    class Java:
        implements = ["scala.Function1"]


def add_write_rule(jvm: Jvm, session: Any, builder: WriteRuleBuilder) -> None:
    """Give a session that exists the rule of that builder; once, however often it is called."""
    analyzer = session.sessionState().analyzer()
    field, rules = private_field(analyzer, _FIELD)
    known = jvm.items(rules)
    if not any(rule.getClass().getName() == _CLASS for rule in known):
        field.set(analyzer, jvm.seq([*known, builder.apply(session)]))
