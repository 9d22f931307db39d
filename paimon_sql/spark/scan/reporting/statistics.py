"""Statistics for Spark's optimizer: estimated rows and bytes of a scan, and column statistics of ANALYZE TABLE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paimon_sql.format.rows.binary_field import epoch_nanos
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.table_statistics import ColumnStatistics
from paimon_sql.format.text.values import parse_text
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.jvm.gateway import CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.scan.reporting.row_size import row_width
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.table.statistics import statistics_of

_LONG, _OBJECT = "java.util.OptionalLong", "java.util.Optional"


class StatisticsProxy(JavaObject):
    """Rows and bytes of a scan before merging and filtering, and the statistics of analyzed columns."""

    def __init__(self, jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField]) -> None:
        super().__init__(jvm)
        self._plan = plan
        self._fields = fields

    def sizeInBytes(self) -> Any:
        return self.jvm.cls(_LONG).of(bytes_of(self._plan, self._fields))

    def numRows(self) -> Any:
        return self.jvm.cls(_LONG).of(self._plan.row_count)

    def columnStats(self) -> Any:
        # Spark uses column statistics only for cost-based optimization.
        table = self._plan.table
        # A chain table's statistics cover only its own branch, a small part of its rows.
        uses_columns = self.jvm.settings.cboEnabled() and Chain.read_by(table) is None
        found = statistics_of(table, self._plan.snapshot) if uses_columns else None
        types = {f.name: f.type for f in table.schema.fields}
        columns = self.jvm.new("java.util.HashMap")
        for name, column in (found.columns if found else {}).items():
            if name in types and _is_estimable(column, types[name]):
                reference = reference_to(self.jvm, name)
                columns.put(reference, ColumnStatisticsProxy(self.jvm, column, types[name]))
        return columns

    class Java:
        implements = [f"{CONNECTOR}.read.Statistics"]


def bytes_of(plan: ScanPlan, fields: Sequence[DataField]) -> int:
    """The estimated bytes of columns in the files of a plan.

    Spark decides by it what to broadcast; only for its own file sources it accounts for pruned columns itself.
    """
    size, full, part = plan.metrics.bytes_read, row_width(plan.table.schema.fields), row_width(fields)
    return size if part >= full else -(-size * part // full)


def _is_estimable(column: ColumnStatistics, data_type: t.DataType) -> bool:
    """Whether Spark can estimate by a column's statistics (``FilterEstimation``) without failing.

    It fails for an IN over TIMESTAMP_NTZ, and for a range if a bound is infinite or NaN.
    """
    if isinstance(data_type, t.FloatType | t.DoubleType):
        return all(math.isfinite(float(text)) for text in (column.min, column.max) if text is not None)
    return not isinstance(data_type, t.TimestampType)


class ColumnStatisticsProxy(JavaObject):
    """The statistics of one column from ANALYZE TABLE."""

    def __init__(self, jvm: Jvm, column: ColumnStatistics, data_type: t.DataType) -> None:
        super().__init__(jvm)
        self._column = column
        self._type = data_type

    def distinctCount(self) -> Any:
        return self._number(self._column.distinct_count)

    def min(self) -> Any:
        return self._bound(self._column.min)

    def max(self) -> Any:
        return self._bound(self._column.max)

    def nullCount(self) -> Any:
        return self._number(self._column.null_count)

    def avgLen(self) -> Any:
        return self._number(self._column.average_length)

    def maxLen(self) -> Any:
        return self._number(self._column.max_length)

    def histogram(self) -> Any:
        return self.jvm.cls(_OBJECT).empty()

    def _number(self, value: int | None) -> Any:
        optional = self.jvm.cls(_LONG)
        return optional.empty() if value is None else optional.of(value)

    def _bound(self, text: str | None) -> Any:
        optional = self.jvm.cls(_OBJECT)
        return optional.empty() if text is None else optional.of(self._value(text))

    def _value(self, text: str) -> Any:
        """The value in Spark's internal form: a date as its day number, a timestamp in microseconds."""
        if isinstance(self._type, t.DecimalType):
            return self.jvm.cls("org.apache.spark.sql.types.Decimal").apply(text)
        if isinstance(self._type, t.DateType):
            return int(text)
        value = parse_text(text, self._type)
        if isinstance(self._type, t.TimestampType | t.LocalZonedTimestampType):
            return epoch_nanos(value, self._type.precision) // 1000
        return value

    class Java:
        implements = [f"{CONNECTOR}.read.colstats.ColumnStatistics"]
