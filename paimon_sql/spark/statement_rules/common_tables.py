"""``WITH RECURSIVE .. FROM .. INSERT .. INSERT ..``: each INSERT has the common tables of the statement.

Spark writes out what others mean where they are named; one that calls itself it keeps above all inserts, and hands each
write of a table of ours its own query alone, where it could not be found any more.
"""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.rules.analyzer import BEFORE_RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.compiled_rule import NODE

_PLANS = f"{CATALYST}.plans.logical"


class CommonTables(AnalysisRule):
    """Brings recursive common tables into each of several inserts of one statement."""

    stage = BEFORE_RESOLUTION
    compiled = "paimon.CommonTablesRule"
    asks = (
        f"""
            private boolean asks({NODE} plan) {{
                if (!(plan instanceof {_PLANS}.WithCTE)) return false;
                {_PLANS}.WithCTE with = ({_PLANS}.WithCTE) plan;
                if (!(with.plan() instanceof {_PLANS}.Union)) return false;
                scala.collection.Iterator inserts = with.plan().children().iterator();
                while (inserts.hasNext()) if (!(inserts.next() instanceof {_PLANS}.CTEInChildren)) return false;
                return true;
            }}""",
    )

    def rewritten(self, plan: Any) -> Any:
        union, tables = plan.plan(), plan.cteDefs()
        inserts = [insert.withCTEDefs(tables) for insert in self.jvm.items(union.children())]
        return union.withNewChildren(self.jvm.seq(inserts))
