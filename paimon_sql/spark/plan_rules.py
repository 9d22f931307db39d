"""Rules of ours in Spark's optimizer.

A rule is a subclass of an abstract class of Spark's (`subclass`, decision 9). Rules run on the driver alone; executors
know nothing of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from paimon_sql.spark.java import CATALYST, Jvm
from paimon_sql.spark.subclass import subclass_instance


class PlanRule(ABC):
    """A rule that rewrites optimized plans, once scans have been built."""

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm

    @abstractmethod
    def rewritten(self, plan: Any) -> Any:
        """The plan that stands for another one; the same object if there is nothing to change."""

    def add_to(self, session: Any) -> None:
        """Let the optimizer of a JVM session apply the rule, after the rules that it has."""
        methods = session.sessionState().experimentalMethods()
        rules = [*self.jvm.items(methods.extraOptimizations()), self._java_rule()]
        getattr(methods, "extraOptimizations_$eq")(self.jvm.seq(rules))

    def _java_rule(self) -> Any:
        answers = {"apply": lambda rule, arguments, proceed: self.rewritten(arguments[0])}
        return subclass_instance(self.jvm, f"{CATALYST}.rules.Rule", answers)


def with_leaves(jvm: Jvm, plan: Any, instead: dict[int, Any]) -> Any:
    """A plan with some of its leaves replaced.

    Args:
        jvm: the JVM.
        plan: a logical plan.
        instead: new plans by the number of the leaf that they replace, counted as ``collectLeaves`` gives them.
    """
    return _Replacement(jvm, instead).of(plan)


class _Replacement:
    def __init__(self, jvm: Jvm, instead: dict[int, Any]) -> None:
        self._jvm = jvm
        self._instead = instead
        self._leaf = 0

    def of(self, plan: Any) -> Any:
        children = self._jvm.items(plan.children())
        if not children:
            self._leaf += 1
            return self._instead.get(self._leaf - 1, plan)
        first = self._leaf
        replaced = [self.of(child) for child in children]
        touched = any(first <= number < self._leaf for number in self._instead)
        return plan.withNewChildren(self._jvm.seq(replaced)) if touched else plan
