"""Runtime filters: a running join passes the values of its other side to a scan, which skips files by them.

Spark fills a ``DynamicPruning`` with the values once they are known, and asks for the scan's partitions only then.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa

from paimon_sql.format.options.engines.spark import READ_KEY_PRUNING_MIN_SIZE
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.conversion.references import column_of, references_to
from paimon_sql.spark.java.connector import ConnectorExpression
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.expressions.predicates import In, Predicate, all_of
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.write.buckets.base import bucket_mode

_BLOOM_FILTERS = "spark.sql.optimizer.runtime.bloomFilter.enabled"
_MIN_BLOOM_FILTER_BYTES = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"
_MIN_PARTS = 8
"""Minimum buckets, or key ranges per bucket: of fewer, a join needs nearly all."""
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_PARSERS: dict[type[t.DataType], Callable[[str], object]] = {
    t.BooleanType: lambda text: text == "true",
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType), int),
    t.DecimalType: Decimal,
    t.DateType: lambda text: date(1970, 1, 1) + timedelta(days=int(text)),
}
"""Parsers of values in Spark's string of a condition, except for strings; other types skip no files."""


@dataclass(frozen=True, eq=False)
class RuntimeFilters:
    """The runtime filters of one scan.

    Attributes:
        jvm: the JVM.
        plan: the plan of the scan without them.
        columns: the names of the scan's columns.
        replan: plans the same read again with a further predicate.
    """

    jvm: Jvm
    plan: ScanPlan
    columns: Sequence[str]
    replan: Callable[[Predicate], ScanPlan]
    # A thread of Spark passes the conditions, then requests the partitions; several may do so at the same time.
    _filtered: threading.local = field(default_factory=threading.local)

    def attributes(self) -> Sequence[ConnectorExpression]:
        """The columns whose values can skip files, as a ``NamedReference[]``."""
        # A column that skips no files has a cost: Spark plans the join's other side again for it.
        schema = self.plan.table.schema
        # Skipping files by keys must save more than its planning costs.
        is_large = self.plan.metrics.bytes_read >= self.plan.table.options.get(READ_KEY_PRUNING_MIN_SIZE)
        keys = _pruning_keys(schema, self.plan.splits) if is_large else set()
        if keys and self._prefers_bloom_filters():
            keys = set()
        useful = {*schema.partition_keys, *keys}
        names = [n for n in self.columns if n in useful and _parser(schema.field(n).type) is not None]
        return references_to(self.jvm, names)

    def _prefers_bloom_filters(self) -> bool:
        """Whether Spark may filter rows by a bloom filter, which it does not for a column with a runtime filter."""
        settings = self.jvm.settings
        if settings.getConfString(_BLOOM_FILTERS, "true") != "true":
            return False
        minimum = self.jvm.static("org.apache.spark.network.util.JavaUtils", "byteStringAsBytes")(
            settings.getConfString(_MIN_BLOOM_FILTER_BYTES, "10GB")
        )
        return self.plan.metrics.bytes_read >= int(minimum)

    def take(self, conditions: Iterable[ConnectorExpression]) -> None:
        """Plan the read with conditions, for the next call of `filtered_plan` by this thread."""
        schema = self.plan.table.schema
        found = (_values(schema, condition) for condition in conditions)
        predicate = all_of([p for p in found if p is not None])
        self._filtered.plan = None if predicate is None else self.replan(predicate)

    def filtered_plan(self) -> ScanPlan | None:
        """The plan with the conditions that this thread has passed to `take`, once; None without any."""
        plan: ScanPlan | None = getattr(self._filtered, "plan", None)
        self._filtered.plan = None
        return plan


def _pruning_keys(schema: TableSchema, splits: Sequence[Split]) -> set[str]:
    """The key columns whose values can skip files, by buckets or by the key ranges of files."""
    keys = set[str]()
    hashed = len(schema.bucket_keys) == 1 and bucket_mode(schema).is_fixed
    if hashed and len({split.bucket for split in splits}) >= _MIN_PARTS:
        keys.update(schema.bucket_keys)
    ranges = sum(len(split.files) if split.raw else len(split.sections) for split in splits)
    if ranges >= _MIN_PARTS * len({(split.partition, split.bucket) for split in splits}):
        # Keys are sorted by their first column first.
        keys.update(schema.trimmed_primary_keys[:1])
    return keys


def _values(schema: TableSchema, condition: ConnectorExpression) -> Predicate | None:
    """The predicate of a condition ``IN`` or ``=`` on a column; None for others, which skip no files."""
    sign = {"IN": " IN (", "=": " = "}.get(condition.name())
    if sign is None:
        return None
    reference = condition.children()[0]
    column = column_of(reference)
    if column is None or column not in schema.names:
        return None
    data_type = schema.field(column).type
    # A round trip per value would take long, so all are parsed from one string.
    text, prefix, parse = condition.toString(), f"{reference.toString()}{sign}", _parser(data_type)
    if parse is None or not text.startswith(prefix):
        return None
    values = text[len(prefix) :].removesuffix(")") if sign == " IN (" else text[len(prefix) :]
    try:
        return In(column, pa.array(parse(values), arrow_type(data_type)))
    except (ValueError, ArithmeticError, pa.ArrowInvalid):
        return None


def _parser(data_type: t.DataType) -> Callable[[str], list[object]] | None:
    """The parser of a list of values of a type; None if the type has none."""
    if isinstance(data_type, t.VarCharType):
        return lambda text: [value.replace("''", "'") for value in _TEXT.findall(text)]
    parse = _PARSERS.get(type(data_type))
    if parse is None:
        return None
    return lambda text: [parse(value) for value in text.split(", ") if value != "null"]
