"""Hidden columns that a statement names, once Spark has made a plan of changes of it.

Spark copies the relation of a table with columns of CHAR or VARCHAR while it lines up assignments, and gives the copy's
hidden columns new ids; those that the statement's expressions hold are none of any table then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.rules.compiled_rule import NODE, compiled_rule
from paimon_sql.spark.rules.trees import from_below, with_expressions

_PLANS = f"{CATALYST}.plans.logical"
_ASKS = (
    f"""
        private boolean asks({NODE} plan) {{
            if (plan instanceof {_PLANS}.WithCTE) return asks((({_PLANS}.WithCTE) plan).plan());
            return plan instanceof {_PLANS}.WriteDelta;
        }}""",
)


def hidden_attributes_rule(jvm: Jvm) -> Any:
    """A rule of Spark's analysis after which the hidden columns in a plan of changes are those of its relation."""
    return jvm.constant(
        "rule for hidden columns",
        lambda: compiled_rule(
            jvm, "paimon.HiddenColumnRule", _ASKS, lambda plan: from_below(jvm, plan, partial(_with_own, jvm))
        ),
    )


def _with_own(jvm: Jvm, plan: Any, children: Sequence[Any]) -> Any:
    missing = plan.missingInput()
    if missing.isEmpty():
        return plan
    # Those of sources are added in the next round.
    offered = {int(a.exprId().id()) for child in children for a in jvm.items(child.metadataOutput())}
    lost = {int(a.exprId().id()) for a in jvm.items(missing.toSeq())} - offered
    own: dict[str, Any] = {}
    for child in children:  # the target is joined from the left
        for attribute in jvm.items(child.output()):
            own.setdefault(str(attribute.name()), attribute)

    def found(expression: Any) -> Any:
        if expression.getClass().getSimpleName() != "AttributeReference" or int(expression.exprId().id()) not in lost:
            return expression
        return own.get(str(expression.name()), expression)

    return with_expressions(jvm, plan, found)
