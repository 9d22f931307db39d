"""``input_file_name()`` over Paimon tables: replaced by the metadata column ``__paimon_file_path``.

The function reads a thread-local variable that only Spark's file readers in the JVM set, not Python workers or the
driver. A merged row comes from several files: over tables with merge on read the function remains Spark's, and is empty
where workers read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.spark.jvm.gateway import CATALYST, python_object
from paimon_sql.spark.rules.analyzer import RELATION, RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.trees import expression_condition, transform_up, with_expressions
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.storage.read.metadata_columns import FILE_PATH
from paimon_sql.storage.scan.postponed import merges_postponed
from paimon_sql.storage.table.table import Table

_FUNCTION = f"{CATALYST}.expressions.InputFileName"
_PATH = FILE_PATH.name
_NAME = f"coalesce(if(startswith({_PATH}, '/'), concat('file://', {_PATH}), {_PATH}), '')"
"""The path in the form of Spark's own readers."""


class FileNames(AnalysisRule):
    """Makes ``input_file_name()`` return the data file of each row, regardless of the reader."""

    stage = RESOLUTION
    compiled = "paimon.FileNameRule"
    condition = expression_condition(f"return expression instanceof {_FUNCTION};")

    def rewrite(self, plan: Any) -> Any:
        return transform_up(self.jvm, plan, self._replaced)

    def _replaced(self, plan: Any, children: Sequence[Any]) -> Any:
        # Only in a resolved plan: before that, Spark derives the names of unnamed columns from the function.
        if len(children) != 1 or not plan.resolved() or not self._has_paths(children[0]):
            return plan
        return with_expressions(self.jvm, plan, self._path_expression)

    def _has_paths(self, plan: Any) -> bool:
        """Whether a plan's rows come from one Paimon table that has the file of each row."""
        if [a.name() for a in self.jvm.items(plan.metadataOutput())].count(_PATH) != 1:
            return False
        return all(
            table is None or not table.schema.primary_keys or _merges_nothing(table)
            for table in map(self._table, self.jvm.items(plan.collectLeaves()))
        )

    def _table(self, leaf: Any) -> Table | None:
        """The Paimon table of a leaf; None if it is another."""
        if leaf.getClass().getName() != RELATION:
            return None
        proxy = python_object(self.jvm, leaf.table())
        return proxy.table if isinstance(proxy, TableProxy) else None

    def _path_expression(self, expression: Any) -> Any:
        if expression.getClass().getName() != _FUNCTION:
            return expression
        return self.session.sessionState().sqlParser().parseExpression(_NAME)


def _merges_nothing(table: Table) -> bool:
    return bool(table.options.get(DELETION_VECTORS_ENABLED)) and not merges_postponed(table)
