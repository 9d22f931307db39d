"""EXPLAIN of an invalid statement fails; Spark shows the error as a plan."""

from __future__ import annotations

from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.jvm.gateway import PLANS
from paimon_sql.spark.rules.compiled_rule import transform_up
from paimon_sql.spark.rules.optimizer import PlanRule
from paimon_sql.spark.statement_rules.catalog_listings import ROWS, row_of

_RUN_BY_ANALYZER = f"{PLANS}.ExecutableDuringAnalysis"
"""The interface of statements that Spark's analyzer runs, such as CALL, unless they are to be explained."""


class FailingExplain(PlanRule):
    """Explains a statement, or raises its error."""

    roots = frozenset(("ExplainCommand",))

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        is_run = self.jvm.java_class(_RUN_BY_ANALYZER).isInstance
        explained = transform_up(
            self.jvm, plan.logicalPlan(), lambda node, _: node.stageForExplain() if is_run(node) else node
        )
        execution = self.session.execution(explained)
        execution.executedPlan()
        text = self.session.explained(execution, str(plan.mode().name()))
        return self.jvm.singleton(ROWS).fromExternalRows(plan.output(), row_of(self.jvm, text))
