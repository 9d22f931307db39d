"""Analyzer rules: injected into Spark's analysis of statements.

Spark applies its rules to every statement, some of them many times. A compiled condition decides whether a rule applies
to a plan (`compiled_rule`), and only then Python is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.gateway import DATASOURCES, Jvm, private_field
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.compiled_rule import Rule, compiled_rule

RELATION = f"{DATASOURCES}.v2.DataSourceV2Relation"
"""The class of the leaves that are tables of catalogs, before their scans are built."""


@dataclass(frozen=True)
class Stage:
    """A stage of Spark's analysis.

    Attributes:
        rules: the member of the analyzer that holds the rules.
        inject: the method of ``SparkSessionExtensions`` that takes a rule builder.
        builders: the member of ``SparkSessionExtensions`` that holds the rule builders.
    """

    rules: str
    inject: str
    builders: str


BEFORE_RESOLUTION = Stage("hintResolutionRules", "injectHintResolutionRule", "hintResolutionRuleBuilders")
"""Rules that resolve hints run before all others and may replace a whole plan."""
RESOLUTION = Stage("extendedResolutionRules", "injectResolutionRule", "resolutionRuleBuilders")
"""Once per round of resolution, after Spark's own rules."""
STAGES = (BEFORE_RESOLUTION, RESOLUTION)
_PACKAGE = "paimon."
"""That of our rules' classes."""


class AnalysisRule(Rule):
    """A rule that rewrites plans during analysis.

    Attributes:
        stage: when it is applied.
        compiled: the full name of its class in the JVM.
        condition: Java source of members of that class; the last, a method ``matches``, decides whether
            Python is called.
    """

    stage: ClassVar[Stage]
    compiled: ClassVar[str]
    condition: ClassVar[Sequence[str]]


@dataclass(frozen=True)
class RuleBuilder:
    """A rule builder of ``SparkSessionExtensions``: a function from a session to its rule.

    Attributes:
        jvm: the JVM.
        rule: the class of the rule.
        make: makes the rule of a session, which may be under construction; by default the constructor of the rule.
    """

    jvm: Jvm
    rule: type[AnalysisRule]
    make: Callable[[JvmSession], AnalysisRule] | None = None

    def build(self, session: ClassicSession) -> JavaObject:
        """Spark's rule of a session."""
        rule = (self.make or self.rule)(JvmSession(self.jvm, session))
        return compiled_rule(self.jvm, self.rule.compiled, self.rule.condition, rule.rewrite)


def add_rule(session: JvmSession, builder: RuleBuilder) -> None:
    """Add a rule to an existing session, unless it has it already."""
    rules = _Rules(session, builder.rule.stage)
    if not any(rule.getClass().getName() == builder.rule.compiled for rule in rules.known):
        rules.replace([*rules.known, builder.build(session.java)])


def remove_rules(session: JvmSession) -> None:
    """Remove our rules, which refer to it, from a session."""
    for stage in STAGES:
        rules = _Rules(session, stage)
        rules.replace([rule for rule in rules.known if not rule.getClass().getName().startswith(_PACKAGE)])


class _Rules:
    """The rules of a stage in a session's analyzer."""

    def __init__(self, session: JvmSession, stage: Stage) -> None:
        self._jvm = session.jvm
        self._analyzer = session.state.analyzer()
        self._field, rules = private_field(self._analyzer, stage.rules)
        of_stage: Seq[JavaObject] = rules
        self.known = list(self._jvm.items(of_stage))

    def replace(self, rules: Sequence[JavaObject]) -> None:
        """Set the rules."""
        self._field.set(self._analyzer, self._jvm.seq(rules))
