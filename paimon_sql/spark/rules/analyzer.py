"""Rules of ours in Spark's analysis of statements.

Spark asks its rules for every statement, some of them many times over: so a compiled line says whether a rule has
anything to say of a plan (`compiled_rules`), and Python is asked for these only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from paimon_sql.spark.jvm.gateway import EXECUTION, JavaObject, Jvm, private_field
from paimon_sql.spark.rules.compiled_rule import compiled_rule

RELATION = f"{EXECUTION}.datasources.v2.DataSourceV2Relation"
"""The class of the leaves that are tables of catalogs, before scans of them are built."""


@dataclass(frozen=True)
class Stage:
    """When Spark's analysis asks a rule.

    Attributes:
        rules: the member of the analyzer that holds the rules.
        inject: the method of ``SparkSessionExtensions`` that takes what makes the rule of a session.
        builders: the member of ``SparkSessionExtensions`` that holds these.
    """

    rules: str
    inject: str
    builders: str


BEFORE_RESOLUTION = Stage("hintResolutionRules", "injectHintResolutionRule", "hintResolutionRuleBuilders")
"""Rules that resolve hints come before anything else, and may exchange a whole plan."""
RESOLUTION = Stage("extendedResolutionRules", "injectResolutionRule", "resolutionRuleBuilders")
"""Once each round of resolution, behind Spark's own rules."""
STAGES = (BEFORE_RESOLUTION, RESOLUTION)


class AnalysisRule(ABC):
    """A rule that rewrites plans while Spark analyses them.

    Args:
        jvm: the JVM.
        session: the session whose plans they are; it may be in the making.

    Attributes:
        stage: when it is asked.
        compiled: the full name of its class in the JVM.
        asks: members of that class in Java's words; the last, a method ``asks``, says whether Python is asked.
    """

    stage: ClassVar[Stage]
    compiled: ClassVar[str]
    asks: ClassVar[Sequence[str]]

    def __init__(self, jvm: Jvm, session: Any) -> None:
        self.jvm = jvm
        self.session = session

    @abstractmethod
    def rewritten(self, plan: Any) -> Any:
        """The plan that stands for another one; the same object if there is nothing to change."""


class RuleBuilder(JavaObject):
    """What Spark's extensions take: a function from a session to its rule.

    Args:
        jvm: the JVM.
        rule: the class of the rule.
        make: makes the rule of a session, which may be in the making; by default the rule needs nothing else.
    """

    MARK = "paimon-sql rule builder"

    def __init__(self, jvm: Jvm, rule: type[AnalysisRule], make: Callable[[Any], AnalysisRule] | None = None) -> None:
        super().__init__(jvm)
        self.rule = rule
        self._make = make or partial(rule, jvm)

    def toString(self) -> str:
        return self.MARK

    def apply(self, session: Any) -> Any:
        return compiled_rule(self.jvm, self.rule.compiled, self.rule.asks, self._make(session).rewritten)

    class Java:
        implements = ["scala.Function1"]


def inject(extensions: Any, builder: RuleBuilder) -> None:
    """Let the sessions that will be made with those extensions have the rule of that builder."""
    getattr(extensions, builder.rule.stage.inject)(builder)


def add_rule(jvm: Jvm, session: Any, builder: RuleBuilder) -> None:
    """Give a session that exists the rule of that builder; once, however often it is called."""
    analyzer = session.sessionState().analyzer()
    field, rules = private_field(analyzer, builder.rule.stage.rules)
    known = jvm.items(rules)
    if not any(rule.getClass().getName() == builder.rule.compiled for rule in known):
        field.set(analyzer, jvm.seq([*known, builder.apply(session)]))
