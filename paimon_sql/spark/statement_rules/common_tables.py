"""Recursive common tables in ``WITH RECURSIVE .. FROM .. INSERT .. INSERT ..``: moved into each INSERT.

Spark inlines other common tables. It leaves a recursive one above all inserts, but passes each write of a Paimon table
only that table's query, which would no longer find it.
"""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.rules.analyzer import BEFORE_RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.compiled_rule import NODE

_PLANS = f"{CATALYST}.plans.logical"


class CommonTables(AnalysisRule):
    """Moves recursive common tables into each insert of a statement with several."""

    stage = BEFORE_RESOLUTION
    compiled = "paimon.CommonTablesRule"
    condition = (
        f"""
            private boolean matches({NODE} plan) {{
                if (!(plan instanceof {_PLANS}.WithCTE)) return false;
                {_PLANS}.WithCTE with = ({_PLANS}.WithCTE) plan;
                if (!(with.plan() instanceof {_PLANS}.Union)) return false;
                scala.collection.Iterator inserts = with.plan().children().iterator();
                while (inserts.hasNext()) if (!(inserts.next() instanceof {_PLANS}.CTEInChildren)) return false;
                return true;
            }}""",
    )

    def rewrite(self, plan: Any) -> Any:
        union, tables = plan.plan(), plan.cteDefs()
        inserts = [insert.withCTEDefs(tables) for insert in self.jvm.items(union.children())]
        return union.withNewChildren(self.jvm.seq(inserts))
