"""Scan request and path: what Spark pushed into a scan, as data, its plan, and the reader chosen for it.

The reader is the driver, Spark's own, or Python workers; a factory makes Spark's ``Scan`` for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import pyarrow as pa

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.engines.spark import SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.java.catalyst import Expression
from paimon_sql.spark.java.objects import Seq
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hadoop_files import reads
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.scan.proxies.deletion_mask import (
    DeletionMask,
    MaskedScanProxy,
    can_mask,
    has_deletion_mask,
    mask_column,
)
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.proxies.native import NativeScanProxy
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy, PlannedTraits, PythonScanProxy
from paimon_sql.spark.scan.pushdown.aggregates import COUNT, AggregateTask, CountTask, answer_fields
from paimon_sql.spark.scan.pushdown.inner_fields import VariantExtractions, parts_of, paths_into
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.reporting.statistics import bytes_of, row_width
from paimon_sql.spark.scan.rules.variants_above import PlaceholderScanProxy
from paimon_sql.storage.data_files.pruning.file_indexes import are_few
from paimon_sql.storage.data_files.pruning.pinned_columns import pins_key
from paimon_sql.storage.expressions.partial_aggregation import PartialAggregation
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.read.group_counts import has_few_groups
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.global_index.lookup import IndexResults
from paimon_sql.storage.scan.metadata_aggregates import MetadataAggregates
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.read_state import depends_on_snapshot_alone
from paimon_sql.storage.scan.split import Split, SplitSize
from paimon_sql.storage.scan.top_n import TopN
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.reported_partitioning import bucketing_of

_DRIVER_ROWS, _DRIVER_FILES = 10_000, 64
"""Maximum rows and files that the driver reads itself if an index finds them."""
_SCATTERED_ROWS, _DRIVER_BYTES = 16, 64 * 2**20
"""More rows than this may lie in as many row groups, so the driver reads them only from files of at most this size."""
_AGGREGATED_BYTES = 16 * 2**20
"""From so many bytes on, workers that aggregate save about what it takes to start them."""


class ScanPath(Enum):
    """The reader of a scan's rows."""

    METADATA = "metadata only"
    DRIVER = "driver"
    NATIVE = "Spark's reader"
    MASKED = "Spark's reader, with a deletion mask"
    WORKERS = "Python workers"


@dataclass(frozen=True)
class ScanRequest:
    """A request of Spark to a scan (Spark: ``ScanBuilder`` and its mixins).

    Attributes:
        table: the table with the options of the read.
        columns: the columns of the rows, which may include metadata columns.
        predicates: the predicates on columns of the table that could be translated.
        row_ids: the predicates on row ids.
        filters: all filters, serialized by Spark.
        limit: the maximum number of rows; None without a limit.
        top: the order and number of the first rows; None without one.
        counts_rows: whether only the number of rows is requested.
        aggregation: the aggregates that are requested instead of rows; None without.
        by_workers: whether Spark's own reader must not be used.
        reads_unindexed: whether rows that no global index covers are read, regardless of the table's search mode.
    """

    table: Table
    columns: tuple[DataField, ...]
    predicates: tuple[Predicate, ...] = ()
    row_ids: tuple[Predicate, ...] = ()
    filters: tuple[str, ...] = ()
    limit: int | None = None
    top: TopN | None = None
    counts_rows: bool = False
    aggregation: PartialAggregation | None = None
    by_workers: bool = False
    reads_unindexed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f.name for f in self.columns)

    @property
    def predicate(self) -> Predicate | None:
        """The conjunction of the predicates on columns of the table."""
        return all_of(list(self.predicates))

    @property
    def row_id_predicate(self) -> Predicate | None:
        """The conjunction of the predicates on row ids."""
        return all_of(list(self.row_ids))

    @property
    def is_lookup(self) -> bool:
        """Whether the predicates fix the value of each column of the primary key."""
        return pins_key(self.table.schema, self.predicate)

    @property
    def reads_metadata_columns(self) -> bool:
        """Whether metadata columns are requested, which no file stores."""
        return not set(self.table.schema.names).issuperset(self.names)

    @property
    def is_about_partitions(self) -> bool:
        """Whether the translated predicates select whole partitions."""
        keys = set(self.table.schema.partition_keys)
        return all(p.is_exact and p.columns() <= keys for p in self.predicates)

    @property
    def planning(self) -> Hashable:
        """The parts of a request that its plan depends on: requests with equal values share a plan."""
        by_columns = self.table.layout.groups_files or self.table.options.get(
            SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
        )
        predicates = (*map(id, self.predicates), None, *map(id, self.row_ids))
        return (predicates, None if self.predicates else self.limit, self.top, self.names if by_columns else None)


def split_size(jvm: Jvm, table: Table, columns: Sequence[DataField] | None = None) -> SplitSize:
    """The size of splits for a query of this thread's session.

    Options of the table, the session (``spark.paimon.*``) and the query override
    ``spark.sql.files.maxPartitionBytes`` and ``spark.sql.files.openCostInBytes``, whose defaults are those of the
    options.

    Args:
        jvm: the JVM.
        table: the table with the options of the read.
        columns: the columns that are read; all by default.
    """
    size, all_columns = _configured_size(jvm, table), table.schema.fields
    if columns is None or not table.options.get(SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING):
        return size
    return replace(size, target=size.target * max(row_width(all_columns), row_width(columns)) // row_width(columns))


def _configured_size(jvm: Jvm, table: Table) -> SplitSize:
    options = table.options
    if options.has(SOURCE_SPLIT_TARGET_SIZE) and options.has(SOURCE_SPLIT_OPEN_FILE_COST):
        return SplitSize.of(options)
    settings = jvm.settings
    return SplitSize.of(options, SplitSize(settings.filesMaxPartitionBytes(), settings.filesOpenCostInBytes()))


class ScanPlanner:
    """Plans the requests of one scan builder, and caches the last plan and the last answers of global indexes."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._cached_plan: tuple[Hashable, ScanPlan] | None = None
        self._cached_answers: tuple[Hashable, IndexResults] | None = None

    def plan(self, request: ScanRequest) -> ScanPlan:
        """The plan of a request; cached by `ScanRequest.planning`."""
        if self._cached_plan is None or self._cached_plan[0] != request.planning:
            started = time.monotonic()
            plan = self._plan(request, request.predicate, self._answers(request))
            metrics = replace(plan.metrics, seconds=time.monotonic() - started)
            self._cached_plan = request.planning, replace(plan, metrics=metrics)
        return self._cached_plan[1]

    def runtime_filters(self, request: ScanRequest, plan: ScanPlan) -> RuntimeFilters | None:
        """The runtime filters of a scan; None where planning the same snapshot again could give another plan."""
        is_narrowed = (request.limit, request.top) != (None, None)
        if is_narrowed or plan.snapshot is None or not depends_on_snapshot_alone(request.table):
            return None
        own = [name for name in request.names if name in request.table.schema.names]
        answers, snapshot = self._answers(request), plan.snapshot

        def replan(predicate: Predicate) -> ScanPlan:
            return self._plan(request, all_of([*request.predicates, predicate]), answers, snapshot)

        return RuntimeFilters(self._jvm, plan, own, replan)

    def _answers(self, request: ScanRequest) -> IndexResults:
        key = tuple(map(id, request.predicates))
        if self._cached_answers is None or self._cached_answers[0] != key:
            self._cached_answers = key, IndexResults(request.predicate, thorough=request.reads_unindexed)
        return self._cached_answers[1]

    def _plan(
        self, request: ScanRequest, predicate: Predicate | None, answers: IndexResults, snapshot: Snapshot | None = None
    ) -> ScanPlan:
        # The driver reads all splits of a look-up: asking Spark how large they may be takes five calls.
        jvm, table = self._jvm, request.table
        return plan_scan(
            table,
            predicate,
            snapshot=snapshot,
            limit=request.limit,
            parallelism=1 if request.is_lookup else jvm.parallelism,
            columns=set(request.names),
            row_ids=request.row_id_predicate,
            answers=answers,
            top=request.top,
            split_size=SplitSize.of(table.options) if request.is_lookup else split_size(jvm, table, request.columns),
        )


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
        columns = request.columns if request.aggregation is None else ()
        return describe(request.table, self.plan, request.predicate, request.aggregation, request.top, columns)


def choose_path(jvm: Jvm, request: ScanRequest, plan: ScanPlan, *, counts_on_driver: bool, extracts: bool) -> ScanPath:
    """Choose the reader of a request.

    Args:
        jvm: the JVM.
        request: the request.
        plan: its plan.
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
    if not _reads(jvm, plan, request.columns):
        return ScanPath.WORKERS
    if plan.is_raw and not plan.rows_to_mask:
        return ScanPath.NATIVE
    # With a limit, rows are returned before all keys are merged, which a mask would require.
    is_masked = (plan.is_raw or request.limit is None) and can_mask(jvm, plan, request.columns)
    return ScanPath.MASKED if is_masked else ScanPath.WORKERS


def is_native(jvm: Jvm, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
    """Whether Spark's own reader can read these columns, with a deletion mask if the plan needs one."""
    if is_narrow(plan) or not _reads(jvm, plan, columns):
        return False
    return not plan.rows_to_mask or can_mask(jvm, plan, columns)


def may_aggregate_faster(plan: ScanPlan, columns: Sequence[DataField]) -> bool:
    """Whether so much of these columns is read that workers, if they aggregate it, may make up for their start."""
    return bool(plan.splits) and bytes_of(plan, columns) >= _AGGREGATED_BYTES


def aggregates_faster(plan: ScanPlan, aggregation: PartialAggregation) -> bool:
    """Whether workers aggregate rows faster than Spark does after its own reader.

    They take about half of the time, as the rows stay in columns, unless there are so many groups that Spark has to
    aggregate about as many rows again.
    """
    columns = [plan.table.schema.field(name) for name in aggregation.columns]
    return may_aggregate_faster(plan, columns) and has_few_groups(plan, aggregation.groups)


def _reads(jvm: Jvm, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
    """Whether Spark's own reader can access the files of a plan and read these columns."""
    return plan.is_native(columns) and reads(jvm, plan.stores, plan.table.file_io)


def is_small(plan: ScanPlan) -> bool:
    """Whether an index finds so few rows that the driver reads them faster than a job starts."""
    found = plan.indexed_rows
    if found is None or found.most is None or found.most > _DRIVER_ROWS:
        return False
    if found.most > _SCATTERED_ROWS and sum(s.size for s in plan.splits) > _DRIVER_BYTES:
        return False
    return sum(len(s.files) for s in plan.splits) <= _DRIVER_FILES


def is_narrow(plan: ScanPlan) -> bool:
    """Whether an index finds so few of the files' rows that reading should skip the others."""
    found = plan.indexed_rows
    return found is not None and are_few(found.expected, sum(s.row_count for s in plan.splits))


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
    m = plan.metrics
    parts = [
        f"snapshot {plan.snapshot.id}" if plan.snapshot else "no snapshot",
        f"files {m.files_read} of {m.files}",
        f"manifests {m.manifests_read} of {m.manifests}",
        f"{m.bytes_read} bytes",
        *(_found_rows(plan) if isinstance(plan, ScanPlan) else []),
        *([f"filter {predicate}"] if predicate is not None else []),
        *([str(aggregation)] if aggregation is not None else []),
        *([str(top)] if top is not None else []),
        *paths_into(columns),
    ]
    return f"paimon {table.name} ({', '.join(parts)})"


def _found_rows(plan: ScanPlan) -> list[str]:
    """What indexes tell about the number of rows."""
    if plan.rows_from_indexes is not None:
        return [f"{plan.rows_from_indexes} rows by global indexes"]
    if plan.indexed_rows is not None:
        return [f"about {round(plan.indexed_rows.expected)} rows by file indexes"]
    return []


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
            assert request.aggregation is not None
            columns = answer_fields(request.aggregation, request.table.schema.fields)
            return self._local(decision, columns, lambda: plan.rows)
        if request.aggregation is not None:
            return self._partial_aggregates(decision, plan, request.aggregation)
        if request.counts_rows:
            return self._count(decision, plan)
        if decision.path is ScanPath.DRIVER:
            return self._local(decision, request.columns, lambda: _read(request, plan))
        return self._rows(decision, plan)

    def _local(
        self, decision: ScanDecision, columns: Sequence[DataField], rows: Callable[[], pa.Table]
    ) -> LocalScanProxy:
        return LocalScanProxy(self.session, columns, decision.describe(), rows, traits=self.traits)

    def _rows(self, decision: ScanDecision, plan: ScanPlan) -> PlannedScanProxy:
        """A scan whose tasks run on executors."""
        request, variants, traits = decision.request, self.variants, self.traits
        if self.is_divisible:
            traits = replace(traits, bucketing=bucketing_of(plan, request.names))
        planned = (self.session, request.columns, decision.describe(), plan)
        native = (*planned, self.pushed, variants.structs if variants is not None else {})
        if decision.path is ScanPath.NATIVE:
            return NativeScanProxy(*native, traits=traits)
        twin = None
        if decision.path is ScanPath.MASKED:
            column = mask_column(self.session.jvm, plan, request.columns, native[-1], request.predicate)
            twin = MaskedScanProxy(*native, request.predicate, column, traits=traits)

        def partitions_of(plan: ScanPlan) -> list[list[ReadTask]]:
            return [[task] for task in read_tasks(request, plan)]

        if variants is not None and variants.structs:
            whole = PythonScanProxy(*planned, partitions_of, traits=traits)
            return PlaceholderScanProxy(*planned, whole, variants, traits=traits, native_twin=twin)
        return PythonScanProxy(*planned, partitions_of, traits=traits, native_twin=twin)

    def _partial_aggregates(
        self, decision: ScanDecision, plan: ScanPlan, aggregation: PartialAggregation
    ) -> PythonScanProxy:
        """A scan that returns partial aggregates, which Spark merges."""
        request, traits = decision.request, self.traits
        fields = answer_fields(aggregation, request.table.schema.fields)
        if {f.name for f in fields[len(aggregation.groups) :]}.isdisjoint(request.table.schema.names):
            traits = replace(traits, bucketing=bucketing_of(plan, aggregation.groups))

        def partitions_of(plan: ScanPlan) -> list[list[AggregateTask]]:
            reads = (ReadTask(request.table, split, aggregation.columns, request.predicate) for split in plan.splits)
            return [[AggregateTask(read, aggregation)] for read in reads]

        return PythonScanProxy(self.session, fields, decision.describe(), plan, partitions_of, traits=traits)

    def _count(self, decision: ScanDecision, plan: ScanPlan) -> ScanInterface:
        """A scan that returns the number of rows."""
        request = decision.request
        count = row_counter(self.session.jvm, request, plan)
        if decision.path is not ScanPath.WORKERS and count is not None:
            return self._local(decision, COUNT, lambda: pa.table({COUNT[0].name: pa.array([count()], pa.int64())}))

        def partitions_of(plan: ScanPlan) -> list[list[CountTask]]:
            return [[task] for task in count_tasks(request, plan)]

        return PythonScanProxy(self.session, COUNT, decision.describe(), plan, partitions_of, traits=self.traits)


def _read(request: ScanRequest, plan: ScanPlan) -> pa.Table:
    """The rows of a request, read on the driver."""
    schema = arrow_schema(request.columns)
    batches = [b.cast(schema) for task in read_tasks(request, plan) for b in task.batches()]
    return pa.Table.from_batches(batches, schema)


def read_tasks(request: ScanRequest, plan: ScanPlan) -> list[ReadTask]:
    """One read task per split of a plan."""
    return list(map(task_maker(request, plan.condition), plan.splits))


def task_maker(request: ScanRequest, condition: Predicate | None = None) -> Callable[[Split], ReadTask]:
    """What makes the task that reads a split for a request.

    Args:
        request: the request.
        condition: a further condition of rows.
    """
    predicate = all_of([p for p in (request.predicate, condition) if p is not None])
    row_ids, parts = request.row_id_predicate, parts_of(request.columns, request.table.schema.fields)
    return lambda split: ReadTask(request.table, split, request.names, predicate, row_ids, parts)
