"""What a join tells a scan while it runs: the values that the other side has, by which files are left out.

Spark fills a ``DynamicPruning`` with the values once they are known and asks for the scan's partitions only then.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from paimon_sql.format.options.engines.spark import READ_KEY_PRUNING_MIN_SIZE
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.conversion.references import column_of, references_to
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.expressions.predicates import In, Predicate, all_of
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.write.buckets.registry import bucket_mode

_BLOOM_FILTERS = "spark.sql.optimizer.runtime.bloomFilter.enabled"
_LEAST_BYTES = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"
_LEAST_PARTS = 8
"""Fewer buckets, or stretches of keys in a bucket, are nearly all wanted by any join."""
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_READ: dict[type[t.DataType], Callable[[str], Any]] = {
    t.BooleanType: lambda text: text == "true",
    t.TinyIntType: int,
    t.SmallIntType: int,
    t.IntType: int,
    t.BigIntType: int,
    t.DecimalType: Decimal,
    t.DateType: lambda text: date(1970, 1, 1) + timedelta(days=int(text)),
}
"""How the values of a type, but for texts, are read from how Spark shows a condition; others leave no file out."""


class RuntimeFilters:
    """The conditions that one scan takes while a query runs.

    Args:
        jvm: the JVM.
        plan: what the scan reads without any.
        columns: the names of the columns that it gives.
        replan: plans the same read once more, under a further condition.
    """

    def __init__(
        self, jvm: Jvm, plan: ScanPlan, columns: Iterable[str], replan: Callable[[Predicate], ScanPlan]
    ) -> None:
        self._jvm = jvm
        self._plan = plan
        self._columns = tuple(columns)
        self._replan = replan
        # A thread of Spark's says the conditions and then asks for the partitions; another may do so meanwhile.
        self._said = threading.local()

    def attributes(self) -> Any:
        """The columns about which conditions are of use."""
        wanted = self._useful()
        return references_to(self._jvm, [name for name in self._columns if name in wanted])

    def _useful(self) -> set[str]:
        # A column that leaves no file out is not without cost: Spark plans the join's other side once more for it.
        schema = self._plan.table.schema
        keys = _telling_keys(schema, self._plan.splits) if self._is_large() else set()
        if keys and self._prefers_bloom_filters():
            keys = set()
        wanted = {*schema.partition_keys, *keys}
        return {name for name in wanted if _reader(schema.field(name).type) is not None}

    def _is_large(self) -> bool:
        """Whether leaving out files by keys may save more than Spark takes to plan it."""
        least: int = self._plan.table.options.get(READ_KEY_PRUNING_MIN_SIZE)
        return self._plan.metrics.bytes_read >= least

    def _prefers_bloom_filters(self) -> bool:
        """Whether Spark may look at single rows, which it does not where the same column leaves files out."""
        settings = self._jvm.settings
        if settings.getConfString(_BLOOM_FILTERS, "true") != "true":
            return False
        least = self._jvm.static("org.apache.spark.network.util.JavaUtils", "byteStringAsBytes")(
            settings.getConfString(_LEAST_BYTES, "10GB")
        )
        return self._plan.metrics.bytes_read >= int(least)

    def take(self, conditions: Iterable[Any]) -> None:
        """Hold conditions for whoever asks for partitions next."""
        schema = self._plan.table.schema
        found = (_values(schema, condition) for condition in conditions)
        predicate = all_of([p for p in found if p is not None])
        self._said.plan = None if predicate is None else self._replan(predicate)

    def taken(self) -> ScanPlan | None:
        """What is left to read under the conditions that this thread has just said; None if it said none."""
        plan: ScanPlan | None = getattr(self._said, "plan", None)
        self._said.plan = None
        return plan


def _telling_keys(schema: TableSchema, splits: Sequence[Split]) -> set[str]:
    """The key columns whose values tell files apart: by the bucket, or by what stretch of the keys a file holds."""
    keys = set[str]()
    hashed = len(schema.bucket_keys) == 1 and bucket_mode(schema).is_fixed
    if hashed and len({split.bucket for split in splits}) >= _LEAST_PARTS:
        keys.update(schema.bucket_keys)
    stretches = sum(len(split.files) if split.raw else len(split.sections) for split in splits)
    if stretches >= _LEAST_PARTS * len({(split.partition, split.bucket) for split in splits}):
        # Stretches go by the first column first.
        keys.update(schema.trimmed_primary_keys[:1])
    return keys


def _values(schema: TableSchema, condition: Any) -> Predicate | None:
    """A condition that a column has one of some values; None for all others, which leave no file out."""
    sign = {"IN": " IN (", "=": " = "}.get(condition.name())
    if sign is None:
        return None
    reference = condition.children()[0]
    column = column_of(reference)
    if column is None or column not in schema.names:
        return None
    data_type = schema.field(column).type
    # A call for each of the values would take long: they are read from the text, at once.
    text, before, read = str(condition.toString()), f"{reference.toString()}{sign}", _reader(data_type)
    if read is None or not text.startswith(before):
        return None
    values = text[len(before) :].removesuffix(")") if sign == " IN (" else text[len(before) :]
    try:
        return In(column, pa.array(read(values), arrow_type(data_type)))
    except (ValueError, ArithmeticError, pa.ArrowInvalid):
        return None


def _reader(data_type: t.DataType) -> Callable[[str], list[Any]] | None:
    """What reads all values of a type from their text; None if nothing does."""
    if isinstance(data_type, t.VarCharType):
        return lambda text: [value.replace("''", "'") for value in _TEXT.findall(text)]
    read = _READ.get(type(data_type))
    if read is None:
        return None
    return lambda text: [read(value) for value in text.split(", ") if value != "null"]
