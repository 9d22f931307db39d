"""Rules that replace expressions: ``input_file_name()`` over Paimon tables, and casts of variant paths."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.spark.java.catalyst import Expression, LogicalPlan
from paimon_sql.spark.jvm.gateway import EXPRESSIONS
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.rules.analyzer import RELATION, RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.compiled_rule import expression_condition, transform_up, with_expressions
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.storage.read.metadata_columns import FILE_PATH
from paimon_sql.storage.scan.postponed import merges_postponed
from paimon_sql.storage.table.table import Table

_FUNCTION = f"{EXPRESSIONS}.InputFileName"
_PATH = FILE_PATH.name
_NAME = f"coalesce(if(startswith({_PATH}, '/'), concat('file://', {_PATH}), {_PATH}), '')"
"""The path in the form of Spark's own readers."""


class FileNames(AnalysisRule):
    """Makes ``input_file_name()`` return the data file of each row, regardless of the reader.

    The function reads a thread-local variable that only Spark's file readers in the JVM set, not Python workers or the
    driver. A merged row comes from several files: over tables with merge on read the function remains Spark's, and is
    empty where workers read.
    """

    stage = RESOLUTION
    compiled = "paimon.FileNameRule"
    condition = expression_condition(f"return expression instanceof {_FUNCTION};")

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        return transform_up(self.jvm, plan, self._replaced)

    def _replaced(self, plan: LogicalPlan, children: Sequence[LogicalPlan]) -> LogicalPlan:
        # Only in a resolved plan: before that, Spark derives the names of unnamed columns from the function.
        if len(children) != 1 or not plan.resolved() or not self._has_paths(children[0]):
            return plan
        return with_expressions(self.jvm, plan, self._path_expression)

    def _has_paths(self, plan: LogicalPlan) -> bool:
        """Whether a plan's rows come from one Paimon table that has the file of each row."""
        if [a.name() for a in self.jvm.items(plan.metadataOutput())].count(_PATH) != 1:
            return False
        return all(
            table is None or not table.schema.has_key or _merges_nothing(table)
            for table in map(self._table, self.jvm.items(plan.collectLeaves()))
        )

    def _table(self, leaf: LogicalPlan) -> Table | None:
        """The Paimon table of a leaf; None if it is another."""
        if leaf.getClass().getName() != RELATION:
            return None
        proxy = python_object(self.jvm, leaf.table())
        return proxy.table if isinstance(proxy, TableProxy) else None

    def _path_expression(self, expression: Expression) -> Expression:
        if expression.getClass().getName() != _FUNCTION:
            return expression
        return self.session.state.sqlParser().parseExpression(_NAME)


def _merges_nothing(table: Table) -> bool:
    return bool(table.options.get(DELETION_VECTORS_ENABLED)) and not merges_postponed(table)


_ALIAS = f"{EXPRESSIONS}.Alias"
_CAST = f"{EXPRESSIONS}.Cast"
_GET = f"{EXPRESSIONS}.variant.VariantGet"
_VARIANT = "org.apache.spark.sql.types.VariantType"
_TRIES = "TRY"


class VariantCasts(AnalysisRule):
    """Replaces ``v:a::int`` by ``variant_get(v, '$.a', 'int')``.

    Both return the same values and the same errors. Spark pushes the function down to a scan, but not a path that is
    extracted as a variant if it is the only use of the column.
    """

    stage = RESOLUTION
    compiled = "paimon.VariantCastRule"
    condition = expression_condition(f"""
        if (!(expression instanceof {_CAST})) return false;
        {EXPRESSIONS}.Expression child = (({_CAST}) expression).child();
        // The colon gives a name, which Spark takes away again where it is inside of something.
        if (child instanceof {_ALIAS}) child = (({_ALIAS}) child).child();
        return child instanceof {_GET} && (({_GET}) child).targetType() instanceof {_VARIANT}
            && !((({_CAST}) expression).dataType() instanceof {_VARIANT});
    """)

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        # Only in a resolved plan: before that, HAVING and ORDER BY match the written expressions of an aggregation, and
        # Spark derives column names from them.
        if not plan.resolved():
            return plan
        return transform_up(
            self.jvm, plan, lambda node, children: with_expressions(self.jvm, node, self._merged) if children else node
        )

    def _merged(self, cast: Expression) -> Expression:
        if cast.getClass().getName() != _CAST:
            return cast
        got, kind = cast.child(), cast.dataType()
        if got.getClass().getName() == _ALIAS:
            got = got.child()
        if got.getClass().getName() != _GET or kind.typeName() == "variant" or got.dataType().typeName() != "variant":
            return cast
        strict = str(cast.evalMode().toString()) != _TRIES
        zone = cast.timeZoneId() if cast.timeZoneId().isDefined() else got.timeZoneId()
        return self.jvm.new(_GET, got.child(), got.path(), kind, strict, zone)
