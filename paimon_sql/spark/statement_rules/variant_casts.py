"""Casts of variant paths, merged into one function with the type: ``v:a::int`` becomes ``variant_get``.

Both return the same values and the same errors. Spark pushes the function down to a scan, but not a path that is
extracted as a variant if it is the only use of the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.rules.analyzer import RESOLUTION, AnalysisRule
from paimon_sql.spark.rules.trees import expression_condition, transform_up, with_expressions

_ALIAS = f"{CATALYST}.expressions.Alias"
_CAST = f"{CATALYST}.expressions.Cast"
_GET = f"{CATALYST}.expressions.variant.VariantGet"
_VARIANT = "org.apache.spark.sql.types.VariantType"
_TRIES = "TRY"


class VariantCasts(AnalysisRule):
    """Replaces ``v:a::int`` by ``variant_get(v, '$.a', 'int')``."""

    stage = RESOLUTION
    compiled = "paimon.VariantCastRule"
    condition = expression_condition(f"""
        if (!(expression instanceof {_CAST})) return false;
        {CATALYST}.expressions.Expression child = (({_CAST}) expression).child();
        // The colon gives a name, which Spark takes away again where it is inside of something.
        if (child instanceof {_ALIAS}) child = (({_ALIAS}) child).child();
        return child instanceof {_GET} && (({_GET}) child).targetType() instanceof {_VARIANT}
            && !((({_CAST}) expression).dataType() instanceof {_VARIANT});
    """)

    def rewrite(self, plan: Any) -> Any:
        # Only in a resolved plan: before that, HAVING and ORDER BY match the written expressions of an aggregation, and
        # Spark derives column names from them.
        return transform_up(self.jvm, plan, self._with_merged_casts) if plan.resolved() else plan

    def _with_merged_casts(self, plan: Any, children: Sequence[Any]) -> Any:
        return with_expressions(self.jvm, plan, self._merged) if children else plan

    def _merged(self, cast: Any) -> Any:
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
