"""``input_file_name()`` over our tables: the hidden column ``__paimon_file_path`` stands in its place.

Spark's readers of files in the JVM remember in the thread which file they read, and the function asks there. What
Python workers read, or the driver, comes from no such reader. Rows that are merged come from several files: over tables
that merge when they are read the function stays Spark's, which is empty where workers read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.spark.jvm.gateway import CATALYST, behind
from paimon_sql.spark.rules.analyzer import RELATION, RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.trees import asks_for, from_below, with_expressions
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.storage.read.metadata_columns import FILE_PATH
from paimon_sql.storage.scan.postponed import merges_postponed
from paimon_sql.storage.table.table import Table

_FUNCTION = f"{CATALYST}.expressions.InputFileName"
_PATH = FILE_PATH.name
_NAME = f"coalesce(if(startswith({_PATH}, '/'), concat('file://', {_PATH}), {_PATH}), '')"
"""As Spark's own readers write it."""


class FileNames(AnalysisRule):
    """Lets ``input_file_name()`` tell the data file of each row, whoever reads it."""

    stage = RESOLUTION
    compiled = "paimon.FileNameRule"
    asks = asks_for(f"return expression instanceof {_FUNCTION};")

    def rewritten(self, plan: Any) -> Any:
        return from_below(self.jvm, plan, self._telling)

    def _telling(self, plan: Any, children: Sequence[Any]) -> Any:
        # Names of columns that have none come from the function as it was written, once a plan is resolved.
        if len(children) != 1 or not plan.resolved() or not self._tells_paths(children[0]):
            return plan
        return with_expressions(self.jvm, plan, self._named)

    def _tells_paths(self, plan: Any) -> bool:
        """Whether a plan's rows come from one table of ours, which knows the file of each."""
        if [a.name() for a in self.jvm.items(plan.metadataOutput())].count(_PATH) != 1:
            return False
        return all(
            table is None or not table.schema.primary_keys or _merges_nothing(table)
            for table in map(self._table, self.jvm.items(plan.collectLeaves()))
        )

    def _table(self, leaf: Any) -> Table | None:
        """The table of a leaf; None if it is none of ours."""
        if leaf.getClass().getName() != RELATION:
            return None
        proxy = behind(self.jvm, leaf.table())
        return proxy.table if isinstance(proxy, TableProxy) else None

    def _named(self, expression: Any) -> Any:
        if expression.getClass().getName() != _FUNCTION:
            return expression
        return self.session.sessionState().sqlParser().parseExpression(_NAME)


def _merges_nothing(table: Table) -> bool:
    return bool(table.options.get(DELETION_VECTORS_ENABLED)) and not merges_postponed(table)
