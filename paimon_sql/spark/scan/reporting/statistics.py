"""Statistics for Spark's optimizer: estimated rows and bytes of a scan, and column statistics of ANALYZE TABLE."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from paimon_sql.format.rows.binary_field import epoch_nanos
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.format.statistics.table_statistics import ColumnStatistics
from paimon_sql.format.text.values import parse_text
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.table.statistics import statistics_of


def optional_long(jvm: Jvm, value: int | None) -> JavaObject:
    """A ``java.util.OptionalLong``."""
    kind = jvm.cls("java.util.OptionalLong")
    return kind.empty() if value is None else kind.of(value)


@dataclass(eq=False)
class StatisticsProxy(Proxy):
    """Rows and bytes of a scan before merging and filtering, and the statistics of analyzed columns."""

    implements = [f"{CONNECTOR}.read.Statistics"]
    plan: ScanPlan
    fields: Sequence[DataField]

    def sizeInBytes(self) -> JavaObject:
        return optional_long(self.jvm, bytes_of(self.plan, self.fields))

    def numRows(self) -> JavaObject:
        return optional_long(self.jvm, self.plan.row_count)

    def columnStats(self) -> JavaObject:
        # Spark uses column statistics only for cost-based optimization.
        table = self.plan.table
        # A chain table's statistics cover only its own branch, a small part of its rows.
        uses_columns = self.jvm.settings.cboEnabled() and Chain.read_by(table) is None
        found = statistics_of(table, self.plan.snapshot) if uses_columns else None
        types = {f.name: f.type for f in table.schema.fields}
        columns = self.jvm.new("java.util.HashMap")
        for name, column in (found.columns if found else {}).items():
            if name in types and _is_estimable(column, types[name]):
                reference = reference_to(self.jvm, name)
                columns.put(reference, ColumnStatisticsProxy(self.jvm, column, types[name]))
        return columns


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


@dataclass(eq=False)
class ColumnStatisticsProxy(Proxy):
    """The statistics of one column from ANALYZE TABLE."""

    implements = [f"{CONNECTOR}.read.colstats.ColumnStatistics"]
    column: ColumnStatistics
    type: DataType

    def distinctCount(self) -> JavaObject:
        return optional_long(self.jvm, self.column.distinct_count)

    def min(self) -> JavaObject:
        return self._bound(self.column.min)

    def max(self) -> JavaObject:
        return self._bound(self.column.max)

    def nullCount(self) -> JavaObject:
        return optional_long(self.jvm, self.column.null_count)

    def avgLen(self) -> JavaObject:
        return optional_long(self.jvm, self.column.average_length)

    def maxLen(self) -> JavaObject:
        return optional_long(self.jvm, self.column.max_length)

    def histogram(self) -> JavaObject:
        return self._bound(None)

    def _bound(self, text: str | None) -> JavaObject:
        return self.jvm.static("java.util.Optional", "ofNullable")(None if text is None else self._value(text))

    def _value(self, text: str) -> object:
        """The value in Spark's internal form: a date as its day number, a timestamp in microseconds."""
        if isinstance(self.type, t.DecimalType):
            return self.jvm.cls("org.apache.spark.sql.types.Decimal").apply(text)
        if isinstance(self.type, t.DateType):
            return int(text)
        value = parse_text(text, self.type)
        if isinstance(self.type, t.TimestampType | t.LocalZonedTimestampType):
            return epoch_nanos(cast("datetime | int", value), self.type.precision) // 1000
        return value


_ROW = 8
"""Bytes that Spark adds per row (Spark: `EstimationUtils.getSizePerRow`)."""
_TEXT, _BYTES, _VARIANT = 20, 100, 2048
_WIDE_DECIMAL = 18
_WIDTHS: dict[type[DataType], int] = {
    **dict.fromkeys((t.BooleanType, t.TinyIntType), 1),
    t.SmallIntType: 2,
    **dict.fromkeys((t.IntType, t.FloatType, t.DateType), 4),
    **dict.fromkeys((t.CharType, t.VarCharType), _TEXT),
    **dict.fromkeys((t.BinaryType, t.VarBinaryType, t.BlobType), _BYTES),
    t.VariantType: _VARIANT,
}
"""Spark's default sizes (Spark: `DataType.defaultSize`); that of all other types is 8."""


def row_width(fields: Iterable[DataField]) -> int:
    """The estimated bytes of one row with these columns."""
    return _ROW + sum(_width(field.type) for field in fields)


def _width(data_type: DataType) -> int:
    match data_type:
        case t.RowType():
            return sum(_width(field.type) for field in data_type.fields)
        case t.ArrayType() | t.VectorType():
            return _width(data_type.element)
        case t.MapType():
            return _width(data_type.key) + _width(data_type.value)
        case t.MultisetType():
            return _width(data_type.element) + _WIDTHS[t.IntType]
        case t.VariantType() if data_type.paths is not None:
            return min(_VARIANT, _TEXT * len(data_type.paths))
        case t.DecimalType():
            return 8 if data_type.precision <= _WIDE_DECIMAL else 16
    return _WIDTHS.get(type(data_type), 8)
