"""Scan request: all that Spark pushed into a scan, as data, and its planning."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.engines.spark import SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.reporting.statistics import row_width
from paimon_sql.storage.data_files.pruning.pinned_columns import pins_key
from paimon_sql.storage.expressions.partial_aggregation import PartialAggregation
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.scan.global_index.lookup import IndexResults
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.read_state import depends_on_snapshot_alone
from paimon_sql.storage.scan.split import SplitSize
from paimon_sql.storage.scan.top_n import TopN
from paimon_sql.storage.table.table import Table


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
        return plan_scan(
            request.table,
            predicate,
            snapshot=snapshot,
            limit=request.limit,
            parallelism=self._jvm.parallelism,
            columns=set(request.names),
            row_ids=request.row_id_predicate,
            answers=answers,
            top=request.top,
            split_size=split_size(self._jvm, request.table, request.columns),
        )
