"""Scan path: the reader chosen for a request (driver, Spark's own, Python workers), and Spark's ``Scan`` for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.java.catalyst import Expression
from paimon_sql.spark.java.objects import Seq
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hadoop_files import reads
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.scan.proxies.deletion_mask import DeletionMask, MaskedScanProxy, can_mask, has_deletion_mask
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.proxies.native import NativeScanProxy
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy, PlannedTraits
from paimon_sql.spark.scan.proxies.python import PythonScanProxy
from paimon_sql.spark.scan.pushdown.aggregates import COUNT, AggregateTask, CountTask, answer_fields
from paimon_sql.spark.scan.pushdown.inner_fields import VariantExtractions, parts_of, paths_into
from paimon_sql.spark.scan.request import ScanRequest
from paimon_sql.spark.scan.rules.variants_above import PlaceholderScanProxy
from paimon_sql.storage.expressions.partial_aggregation import PartialAggregation
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.metadata_aggregates import MetadataAggregates
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.top_n import TopN
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.reported_partitioning import bucketing_of

_DRIVER_ROWS, _DRIVER_FILES = 10_000, 64
"""Maximum rows and files that the driver reads itself if a global index finds them."""
_NARROW_FACTOR = 8
"""Python workers read the rows that an index finds if they are at most one part in this many of the files' rows."""


class ScanPath(Enum):
    """The reader of a scan's rows."""

    METADATA = "metadata only"
    DRIVER = "driver"
    NATIVE = "Spark's reader"
    MASKED = "Spark's reader, with a deletion mask"
    WORKERS = "Python workers"


@dataclass(frozen=True)
class NativeReader:
    """The capabilities of Spark's own Parquet reader for the files of a plan."""

    jvm: Jvm

    def reads(self, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
        """Whether it can access the files and read these columns."""
        return plan.is_native(columns) and reads(self.jvm, plan.stores, plan.table.file_io)

    def masks(self, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
        """Whether it can drop rows by a deletion mask: those deleted, or overwritten by newer ones of their keys."""
        return can_mask(self.jvm, plan, columns)


@dataclass(frozen=True)
class ScanDecision:
    """A request, its plan, and the path that reads it; EXPLAIN prints it.

    Attributes:
        request: the request.
        plan: its plan, or its metadata-only aggregates.
        path: the reader.
    """

    request: ScanRequest
    plan: ScanPlan | MetadataAggregates
    path: ScanPath

    def describe(self) -> str:
        """One line, for EXPLAIN and the UI."""
        request = self.request
        if request.aggregation is not None:
            return describe(request.table, self.plan, request.predicate, request.aggregation)
        return describe(request.table, self.plan, request.predicate, top=request.top, columns=request.columns)


def choose_path(
    request: ScanRequest, plan: ScanPlan, native: NativeReader, *, counts_on_driver: bool, extracts: bool
) -> ScanPath:
    """Choose the reader of a request.

    Args:
        request: the request.
        plan: its plan.
        native: Spark's own reader.
        counts_on_driver: whether the number of rows can be found without reading all of them.
        extracts: whether the scan extracts values from variants, which only Spark's own reader can.
    """
    if request.aggregation is not None:
        return ScanPath.WORKERS
    if request.counts_rows:
        return ScanPath.DRIVER if counts_on_driver else ScanPath.WORKERS
    if not extracts and (not plan.splits or request.is_lookup or is_small(plan)):
        return ScanPath.DRIVER
    if request.reads_metadata_columns or request.by_workers or is_narrow(plan):
        return ScanPath.WORKERS
    if not native.reads(plan, request.columns):
        return ScanPath.WORKERS
    if plan.is_raw and not plan.rows_to_mask:
        return ScanPath.NATIVE
    # With a limit, rows are returned before all keys are merged, which a mask would require.
    is_masked = (plan.is_raw or request.limit is None) and native.masks(plan, request.columns)
    return ScanPath.MASKED if is_masked else ScanPath.WORKERS


def is_native(plan: ScanPlan, native: NativeReader, columns: Sequence[DataField]) -> bool:
    """Whether Spark's own reader can read these columns, with a deletion mask if the plan needs one."""
    if is_narrow(plan) or not native.reads(plan, columns):
        return False
    return not plan.rows_to_mask or native.masks(plan, columns)


def is_small(plan: ScanPlan) -> bool:
    """Whether an index finds so few rows that the driver reads them faster than a job starts."""
    found = plan.rows_from_indexes
    return found is not None and found <= _DRIVER_ROWS and sum(len(s.files) for s in plan.splits) <= _DRIVER_FILES


def is_narrow(plan: ScanPlan) -> bool:
    """Whether an index finds so few of the files' rows that reading should skip the others."""
    found = plan.rows_from_indexes
    return found is not None and found * _NARROW_FACTOR <= sum(s.row_count for s in plan.splits)


def has_all_rows(request: ScanRequest, plan: ScanPlan) -> bool:
    """Whether all live rows of the plan's files are requested."""
    keys = set(request.table.schema.partition_keys)
    if not all(p.columns() <= keys for p in request.predicates):
        return False
    return plan.rows_from_indexes is None and not request.row_ids and not request.table.layout.groups_files


def describe(
    table: Table,
    plan: ScanPlan | MetadataAggregates,
    predicate: Predicate | None,
    aggregation: PartialAggregation | None = None,
    top: TopN | None = None,
    columns: Sequence[DataField] = (),
) -> str:
    """A description of a scan in one line."""
    m, found = plan.metrics, plan.rows_from_indexes if isinstance(plan, ScanPlan) else None
    parts = [
        f"snapshot {plan.snapshot.id}" if plan.snapshot else "no snapshot",
        f"files {m.files_read} of {m.files}",
        f"manifests {m.manifests_read} of {m.manifests}",
        f"{m.bytes_read} bytes",
        *([f"{found} rows by global indexes"] if found is not None else []),
        *([f"filter {predicate}"] if predicate is not None else []),
        *([str(aggregation)] if aggregation is not None else []),
        *([str(top)] if top is not None else []),
        *paths_into(columns),
    ]
    return f"paimon {table.name} ({', '.join(parts)})"


def row_counter(jvm: Jvm, request: ScanRequest, plan: ScanPlan) -> Callable[[], int] | None:
    """A function that counts on the driver, by look-up, metadata or deletion mask; None if workers must count."""
    if request.is_lookup:
        return lambda: sum(task.count() for task in count_tasks(request, plan))
    if request.by_workers:
        return None
    if plan.counts_rows:
        return lambda: plan.row_count
    if has_all_rows(request, plan) and has_deletion_mask(plan):
        return lambda: DeletionMask(jvm, plan, None).live_rows
    return None


def count_tasks(request: ScanRequest, plan: ScanPlan) -> list[CountTask]:
    """One task per split that counts its rows by reading one column."""
    schema = request.table.schema
    columns = schema.trimmed_primary_keys[:1] or schema.names[:1]
    return [CountTask(ReadTask(request.table, split, columns, request.predicate)) for split in plan.splits]


@dataclass(frozen=True)
class ScanFactory:
    """Factory of scans.

    Attributes:
        session: the session.
        pushed: Catalyst expressions by which Spark's own reader may skip row groups and pages.
        variants: the values to extract from variants; None if Spark pushed none.
        traits: what the scan offers besides its rows, without the buckets of the rows.
        is_divisible: whether Spark may divide the splits anew, by the buckets of their rows.
    """

    session: JvmSession
    pushed: Seq[Expression] | None
    variants: VariantExtractions | None
    traits: PlannedTraits
    is_divisible: bool = True

    def scan(self, decision: ScanDecision) -> ScanInterface:
        """Return the scan of a decision."""
        request, plan = decision.request, decision.plan
        if isinstance(plan, MetadataAggregates):
            return self._from_metadata(decision, plan)
        if request.aggregation is not None:
            return self._partial_aggregates(decision, plan)
        if request.counts_rows:
            return self._count(decision, plan)
        if decision.path is ScanPath.DRIVER:
            return self._on_driver(decision, plan)
        return self._rows(decision, plan)

    def _on_driver(self, decision: ScanDecision, plan: ScanPlan) -> LocalScanProxy:
        request = decision.request
        tasks, schema = read_tasks(request, plan), arrow_schema(request.columns)

        def rows() -> pa.Table:
            return pa.Table.from_batches([b.cast(schema) for task in tasks for b in task.batches()], schema)

        return LocalScanProxy(self.session, request.columns, rows, decision.describe(), self.traits)

    def _rows(self, decision: ScanDecision, plan: ScanPlan) -> PlannedScanProxy:
        """A scan whose tasks run on executors."""
        request, what = decision.request, decision.describe()
        structs = self.variants.structs if self.variants is not None else None
        native_arguments = (self.session, request.columns, self.pushed, what, plan)
        traits = self._with_bucketing(plan, request.names)
        if decision.path is ScanPath.NATIVE:
            return NativeScanProxy(*native_arguments, structs, traits)
        twin = None
        if decision.path is ScanPath.MASKED:
            twin = MaskedScanProxy(*native_arguments, request.predicate, structs, traits)

        def partitions_of(plan: ScanPlan) -> list[list[ReadTask]]:
            return [[task] for task in read_tasks(request, plan)]

        arguments = (self.session.jvm, partitions_of(plan), request.columns, what, plan)
        if self.variants is not None and structs:
            by_workers = PythonScanProxy(*arguments, None, partitions_of, traits)
            return PlaceholderScanProxy(by_workers, twin, self.variants, traits)
        return PythonScanProxy(*arguments, twin, partitions_of, traits)

    def _with_bucketing(self, plan: ScanPlan, columns: Sequence[str]) -> PlannedTraits:
        return replace(self.traits, bucketing=bucketing_of(plan, columns)) if self.is_divisible else self.traits

    def _partial_aggregates(self, decision: ScanDecision, plan: ScanPlan) -> PythonScanProxy:
        """A scan that returns partial aggregates, which Spark merges."""
        request = decision.request
        aggregation = request.aggregation
        assert aggregation is not None

        def partitions_of(plan: ScanPlan) -> list[list[AggregateTask]]:
            reads = (ReadTask(request.table, split, aggregation.columns, request.predicate) for split in plan.splits)
            return [[AggregateTask(read, aggregation)] for read in reads]

        fields = answer_fields(aggregation, request.table.schema.fields)
        traits = self.traits
        if {f.name for f in fields[len(aggregation.groups) :]}.isdisjoint(request.table.schema.names):
            traits = replace(traits, bucketing=bucketing_of(plan, aggregation.groups))
        arguments = (self.session.jvm, partitions_of(plan), fields, decision.describe(), plan)
        return PythonScanProxy(*arguments, None, partitions_of, traits)

    def _count(self, decision: ScanDecision, plan: ScanPlan) -> ScanInterface:
        """A scan that returns the number of rows."""
        request, what, jvm = decision.request, decision.describe(), self.session.jvm
        count = row_counter(jvm, request, plan)
        if decision.path is ScanPath.WORKERS or count is None:
            tasks = [[task] for task in count_tasks(request, plan)]
            return PythonScanProxy(jvm, tasks, COUNT, what, plan, traits=self.traits)
        counted = count

        def rows() -> pa.Table:
            return pa.table({COUNT[0].name: pa.array([counted()], pa.int64())})

        return LocalScanProxy(self.session, COUNT, rows, what, self.traits)

    def _from_metadata(self, decision: ScanDecision, answer: MetadataAggregates) -> LocalScanProxy:
        """A scan that returns metadata-only aggregates."""
        aggregation = decision.request.aggregation
        assert aggregation is not None
        fields = answer_fields(aggregation, decision.request.table.schema.fields)
        return LocalScanProxy(self.session, fields, lambda: answer.rows, decision.describe(), self.traits)


def read_tasks(request: ScanRequest, plan: ScanPlan) -> list[ReadTask]:
    """One read task per split of a plan."""
    predicate = all_of([p for p in (request.predicate, plan.condition) if p is not None])
    parts = parts_of(request.columns, request.table.schema.fields)
    return [
        ReadTask(request.table, split, request.names, predicate, request.row_id_predicate, parts)
        for split in plan.splits
    ]
