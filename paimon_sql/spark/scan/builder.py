"""What Spark pushes into a scan, and the choice of who reads: the driver, the JVM or Python workers.

Column pruning, filters and limits are collected first; the plan is made once, when Spark asks for the scan. All filters
stay with Spark as well, except those on partition columns alone, which planning decides exactly, and those of a
look-up by key, which the driver carries out, or of a read that readers decide by themselves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from paimon_sql.errors import NoSuchSnapshotError, PaimonError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.engines.spark import (
    READ_ALLOW_FULL_SCAN,
    READ_CHANGELOG,
    READ_PUSH_DOWN_ENABLED,
    SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING,
)
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import DataField, is_floating
from paimon_sql.spark.connector.equality import ScanEquality
from paimon_sql.spark.expressions.predicates import translate_all
from paimon_sql.spark.expressions.serialized import expression_text
from paimon_sql.spark.jvm.compat import HAS_PRUNED_VARIANTS
from paimon_sql.spark.jvm.gateway import CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.jvm.hadoop_files import reads
from paimon_sql.spark.scan.deletion_mask import DeletionMask, can_mark, has_deletion_mask, marking_scan
from paimon_sql.spark.scan.local import LocalScanProxy
from paimon_sql.spark.scan.micro_batches import MicroBatchStreamProxy
from paimon_sql.spark.scan.native import NativeScanProxy
from paimon_sql.spark.scan.planned import PlannedScanProxy
from paimon_sql.spark.scan.pushdown.aggregates import (
    COUNT,
    JUST_COUNT,
    AggregateTask,
    CountTask,
    answer_fields,
    partial_aggregation,
    simple_aggregation,
    sums_for_averages,
)
from paimon_sql.spark.scan.pushdown.nested_columns import narrowed, parts_of
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.pushdown.sort_orders import first_in_order
from paimon_sql.spark.scan.pushdown.variants import VariantsWanted, answers, extractions_of, paths_into
from paimon_sql.spark.scan.python import PythonScanProxy
from paimon_sql.spark.scan.reporting.split_size import split_size
from paimon_sql.spark.scan.rules.variants_above import PromisedScanProxy
from paimon_sql.storage.columns.blobs import is_blob
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.data_files.pruning.pinned_columns import pins_key
from paimon_sql.storage.expressions.partial_aggregates import PartialAggregation
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.read.metadata_columns import hidden_fields
from paimon_sql.storage.read.readers.lenient import ignoring_files
from paimon_sql.storage.read.row_tracking import is_tracked
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.global_index.lookup import IndexAnswers
from paimon_sql.storage.scan.metadata_aggregates import MetadataAggregates, metadata_aggregates
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.seen import depends_on_snapshot_alone, sees_one_branch
from paimon_sql.storage.scan.selection.top_n import TopN
from paimon_sql.storage.streams.source import StreamSource
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing, bucketing_of

_FEW_ROWS, _FEW_FILES = 10_000, 64
"""How many rows, of how many files, the driver reads by itself if a global index tells them."""
_WORTH = 8
"""Python workers read what an index tells if it leaves out all rows but this part of them."""


class ScanBuilderProxy(JavaObject):
    """Builds one scan of one table.

    Args:
        jvm: the JVM.
        table: the table, under the options of the read.
        session: the JVM's session.
        note: is told the snapshot of what was planned.
        also: the columns that are read whatever the query wants.

    Attributes:
        thorough: whether rows that no global index covers are read whatever the table's search mode.
    """

    thorough = False

    def __init__(
        self,
        jvm: Jvm,
        table: Table,
        session: Any,
        note: Callable[[Snapshot | None], None] | None = None,
        also: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(jvm)
        self._note = note
        self._also = also
        self._filters: list[str] = []
        self.table = table = table if self.thorough else ignoring_files(table)
        self.session = session
        self._columns: tuple[DataField, ...] = table.schema.fields
        self._pushed: Any = None
        self._predicates: list[Predicate] = []
        self._row_ids: list[Predicate] = []
        self._limit: int | None = None
        self._top: TopN | None = None
        self._answers: IndexAnswers | None = None
        self._plan: ScanPlan | None = None
        self._by_python = table.forgiving or not table.options.get(READ_PUSH_DOWN_ENABLED)
        self._counts = False
        self._from_metadata: MetadataAggregates | None = None
        self._averages = True
        self._aggregation: PartialAggregation | None = None
        self._variants: VariantsWanted | None = None

    def pruneColumns(self, struct: Any) -> None:
        hidden = {f.name: f for f in hidden_fields(self.table.schema)}
        own = {f.name: f for f in self.table.schema.fields}
        asked = {f["name"]: f["type"] for f in json.loads(struct.json())["fields"]}
        if self._also:
            asked = {n: asked.get(n) for n in (*own, *hidden) if n in asked or n in self._also}
        wanted = tuple(narrowed(own[n], kind) if n in own else hidden[n] for n, kind in asked.items())
        if self._variants is not None:
            wanted = self._variants.of(wanted)
        # Rows without columns could not be counted on their way; one column is the least.
        self._columns = wanted or self.table.schema.fields[:1]
        if has_data_evolution(self.table) or self.table.options.get(SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING):
            self._plan = None  # others of the files may hold these columns, or splits be of another size

    def pushVariantExtractions(self, told: Any) -> Any:
        # Spark asks for the whole plan above the scan first, and then again for parts of it, which know less.
        if self._variants is not None or self.thorough:
            return answers(self.jvm, told, False)
        self._variants = VariantsWanted(extractions_of(told))
        self._columns = self._variants.of(self._columns)
        self._variants.extracted = self._variants.can_be_extracted and self._reads_natively()
        return answers(self.jvm, told, self._variants.extracted)

    def supportsDeferCastError(self) -> bool:
        return True

    def _reads_natively(self) -> bool:
        """Whether Spark's own reader will read all, unless the rest of the query turns out otherwise."""
        if self._by_python or not HAS_PRUNED_VARIANTS:
            return False
        plan = self._planned()
        return (
            bool(plan.splits)
            and plan.rows_from_indexes is None
            and not has_data_evolution(self.table)
            and not pins_key(self.table.schema, all_of(self._predicates))
            and self._is_native(self._columns)
        )

    def pushFilters(self, expressions: Any) -> Any:
        # Blobs are fetched for rows that are wanted, and not to find out which are.
        types = {f.name: f.type for f in self.table.schema.fields if not is_blob(f.type)}
        ids = (
            {ROW_ID.name: ROW_ID.type}
            if is_tracked(self.table.schema) and ROW_ID.name not in self.table.schema.names
            else {}
        )
        text = expression_text(self.jvm, expressions)
        self._filters.append(text)
        found = translate_all(text, {**types, **ids})
        self._row_ids += [p for p in found if p is not None and p.columns() == ids.keys()]
        found = [p if p is not None and p.columns() <= types.keys() else None for p in found]
        self._predicates += [p for p in found if p is not None]
        self._answers = self._plan = None
        exact = {name for name, kind in types.items() if not is_floating(kind)}
        settled = set(types if self._decides() else self.table.schema.partition_keys)
        left = [i for i, p in enumerate(found) if p is None or not (p.is_exact and p.columns() <= settled)]
        pushed = [i for i, p in enumerate(found) if p is None or p.columns() <= exact]
        self._pushed, rest = self._chosen(expressions, len(found), pushed, left)
        return rest

    def _decides(self) -> bool:
        """Whether Spark need not look at rows again whose filters were understood."""
        if pins_key(self.table.schema, all_of(self._predicates)):
            return True
        # Workers leave out exactly the rows that are not wanted, Spark's own reader does so roughly.
        self._by_python = self._by_python or (bool(self._planned().splits) and not self._is_native(()))
        return self._by_python

    def _chosen(self, expressions: Any, count: int, *choices: list[int]) -> list[Any]:
        """Some of the expressions, for each choice; they are fetched only if a choice leaves one out but not all."""
        items: list[Any] = []
        if any(0 < len(chosen) < count for chosen in choices):
            items = self.jvm.items(expressions)
        return [expressions if len(c) == count else self.jvm.seq(items[i] for i in c) for c in choices]

    def pushedFilters(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def pushLimit(self, limit: int) -> bool:
        if self._counts or self._aggregation is not None or self.table.forgiving:
            return False
        self._limit = limit
        if not self._predicates:
            self._plan = None
        return True

    def pushTopN(self, orders: Any, limit: int) -> bool:
        if self._counts or self._aggregation is not None or self.table.forgiving:
            return False
        self._top = first_in_order(orders, limit, self.table.schema)
        if self._top is not None:
            self._plan = None
        return self._top is not None

    def isPartiallyPushed(self) -> bool:
        return True

    def supportCompletePushDown(self, aggregation: Any) -> bool:
        # Spark need not put anything together if there is but one row of each group.
        wanted = simple_aggregation(self.jvm, aggregation, self.table.schema.fields)
        if wanted is not None and not self._row_ids and not self.table.forgiving:
            self._from_metadata = metadata_aggregates(self.table, wanted, all_of(self._predicates))
            self._aggregation = wanted if self._from_metadata else None
        self._counts = wanted == JUST_COUNT and self._from_metadata is None
        if self._counts or self._from_metadata is not None:
            return self._from_metadata is not None or self._counter(self._planned()) is not None
        # Averages are seen here alone: what is pushed has sums and counts in their place.
        fields = self.table.schema.fields
        self._averages = self._averages and (not self._for_workers(fields) or sums_for_averages(aggregation, fields))
        return False

    def pushAggregation(self, aggregation: Any) -> bool:
        # Spark asks only when no filter is left to it, so what is pushed here decides on the rows by itself.
        return self._counts or self._from_metadata is not None or self._aggregates(aggregation)

    def _aggregates(self, aggregation: Any) -> bool:
        """Whether Python workers will put rows together; the JVM does so by itself with what it reads itself."""
        # To look at an aggregation takes time, which what the JVM reads had better be spared.
        schema = self.table.schema
        if not self._averages or not self._for_workers(schema.fields) or pins_key(schema, all_of(self._predicates)):
            return False
        wanted = partial_aggregation(aggregation, schema.fields)
        if wanted is None or not self._for_workers([schema.field(name) for name in wanted.columns]):
            return False
        self._aggregation = wanted
        return True

    @property
    def _extracts(self) -> bool:
        """Whether the scan gives what is inside of variants, whoever is to read them after all."""
        return self._variants is not None and self._variants.extracted

    def _for_workers(self, columns: Sequence[DataField]) -> bool:
        """Whether there are rows that Python workers had better put together, as they read them anyway."""
        return bool(self._planned().splits) and (self._by_python or not self._is_native(columns))

    def _is_native(self, columns: Sequence[DataField]) -> bool:
        """Whether Spark's own reader can read these columns, and be told of dead rows if there are any."""
        plan = self._planned()
        if _narrows(plan) or not self._jvm_reads(columns):
            return False
        return not plan.rows_to_mark or can_mark(self.jvm, plan, columns)

    def _jvm_reads(self, columns: Sequence[DataField]) -> bool:
        """Whether Spark's own reader reads such files, and reaches them."""
        plan = self._planned()
        return plan.is_native(columns) and reads(self.jvm, plan.stores, plan.table.file_io)

    def _planned(self) -> ScanPlan:
        if self._plan is None:
            started, predicate = time.monotonic(), all_of(self._predicates)
            self._answers = self._answers or IndexAnswers(predicate, thorough=self.thorough)
            self._plan = self._plan_for(predicate, self._answers)
            self._plan.metrics.seconds = time.monotonic() - started
        return self._plan

    def _plan_for(
        self, predicate: Predicate | None, answers: IndexAnswers, snapshot: Snapshot | None = None
    ) -> ScanPlan:
        return plan_scan(
            self.table,
            predicate,
            snapshot=snapshot,
            limit=self._limit,
            parallelism=self.parallelism,
            columns={f.name for f in self._columns},
            row_ids=all_of(self._row_ids),
            answers=answers,
            top=self._top,
            split_size=split_size(self.jvm, self.table, self._columns),
        )

    def _runtime_filters(self, plan: ScanPlan) -> RuntimeFilters | None:
        """What takes conditions while the query runs; None where a plan of the same snapshot could be another one."""
        narrows, answers, snapshot = (self._limit, self._top) != (None, None), self._answers, plan.snapshot
        if narrows or answers is None or snapshot is None or not depends_on_snapshot_alone(self.table):
            return None

        def replan(predicate: Predicate) -> ScanPlan:
            return self._plan_for(all_of([*self._predicates, predicate]), answers, snapshot)

        return RuntimeFilters(
            self.jvm, plan, [f.name for f in self._columns if f.name in self.table.schema.names], replan
        )

    def _bucketing(self, plan: ScanPlan, columns: Sequence[str]) -> Bucketing | None:
        """By which of the columns that it gives Spark may tell the scan's partitions apart; None if by none."""
        return bucketing_of(plan, columns)

    def build(self) -> Any:
        try:
            scan = self._batch()
            snapshot = (self._from_metadata or self._planned()).snapshot
            scan.likeness = self._likeness(snapshot)
            for other in scan.stand_ins if isinstance(scan, PlannedScanProxy) else ():
                other.likeness = scan.likeness
            if self._note is not None:
                self._note(snapshot)
        except NoSuchSnapshotError as error:
            scan = LocalScanProxy(self.jvm, self.session, self._columns, partial(_raise, error), self.table.name)
        scan.stream = self._stream
        return scan

    def _likeness(self, snapshot: Snapshot | None) -> ScanEquality | None:
        """What another scan must have in common with this one to give the same rows; None if nothing tells that."""
        table = self.table
        if not sees_one_branch(table):
            return None
        names = tuple(f.name for f in self._columns)
        way = (self._columns, self._limit, self._top, self._counts, self._aggregation, self._by_python, self.thorough)
        seen = (table.branch, table.read_optimized, table.schema, snapshot)
        taken = () if self._variants is None else self._variants.given
        return ScanEquality(table.path, names, self._filters, seen, way, taken)

    def _stream(self) -> MicroBatchStreamProxy:
        if self.table.options.get(READ_CHANGELOG):
            raise UnsupportedError(
                f"{self.table.name}: this PySpark does not tell a catalog of '{READ_CHANGELOG.key}'.",
                remedy="Read `t$audit_log`, which has the rows with their kinds.",
            )
        table, predicate, names = self.table, all_of(self._predicates), tuple(f.name for f in self._columns)
        source, parts = StreamSource(table, predicate), parts_of(self._columns, table.schema.fields)
        return MicroBatchStreamProxy(
            self.jvm, source, self._columns, lambda split: ReadTask(table, split, names, predicate, parts=parts)
        )

    def _batch(self) -> Any:
        if self._from_metadata is not None:
            return self._answer(self._from_metadata)
        predicate, plan = all_of(self._predicates), self._planned()
        if self._aggregation is not None:
            self._refuse_full_scan(plan)
            return self._partially(self._aggregation, plan, predicate)
        self._refuse_full_scan(plan)
        what = describe(self.table, plan, predicate, top=self._top, columns=self._columns)
        if self._counts:
            return self._count(plan, what)
        names = tuple(f.name for f in self._columns)
        row_ids = all_of(self._row_ids)
        wanted = all_of([p for p in (predicate, plan.condition) if p is not None])
        parts = parts_of(self._columns, self.table.schema.fields)

        def tasks_of(plan: ScanPlan) -> list[ReadTask]:
            return [ReadTask(self.table, split, names, wanted, row_ids, parts) for split in plan.splits]

        tasks = tasks_of(plan)
        if not self._extracts and (not tasks or pins_key(self.table.schema, predicate) or _is_little(plan)):
            return LocalScanProxy(self.jvm, self.session, self._columns, lambda: self._read(tasks), what)
        scan = self._by_workers(plan, tasks_of, tasks, what)
        scan.runtime, scan.bucketing = self._runtime_filters(plan), self._bucketing(plan, names)
        for other in scan.stand_ins:
            other.runtime, other.bucketing = scan.runtime, scan.bucketing
        return scan

    def _refuse_full_scan(self, plan: ScanPlan) -> None:
        """Nothing, unless a query of a table with partitions would read all files and its options forbid that."""
        table, files = self.table, plan.metrics.files
        if self.thorough or not table.schema.partition_keys or table.options.get(READ_ALLOW_FULL_SCAN):
            return
        if files and plan.metrics.files_read == files:
            raise UnsupportedError(
                f"{table.name}: Full scan is not supported. The query would read all {files} files of the table.",
                remedy=f"Ask for some of its {', '.join(table.schema.partition_keys)}, or set"
                f" '{READ_ALLOW_FULL_SCAN.key}' = 'true'.",
            )

    def _by_workers(
        self, plan: ScanPlan, tasks_of: Callable[[ScanPlan], list[ReadTask]], tasks: list[ReadTask], what: str
    ) -> PlannedScanProxy:
        """A scan whose tasks run all over the cluster."""
        twin, structs = None, self._variants.structs if self._variants is not None else None
        if not self._hidden and not self._by_python and not _narrows(plan) and self._jvm_reads(self._columns):
            given = (self.jvm, self.session, self._columns, self._pushed, what, plan)
            if plan.is_raw and not plan.rows_to_mark:
                return NativeScanProxy(*given, structs)
            # Whoever wants but a few rows need not wait until all are merged.
            if plan.is_raw or self._limit is None:
                twin = marking_scan(*given, all_of(self._predicates), structs)

        def partitions_of(plan: ScanPlan) -> list[list[ReadTask]]:
            return [[task] for task in tasks_of(plan)]

        given_tasks = (self.jvm, [[t] for t in tasks], self._columns, what, plan)
        if self._variants is not None and structs:
            whole = PythonScanProxy(*given_tasks, partitions_of=partitions_of)
            return PromisedScanProxy(whole, twin, self._variants)
        return PythonScanProxy(*given_tasks, twin, partitions_of)

    @property
    def parallelism(self) -> int:
        """How many tasks run at a time."""
        found: int = self.jvm.constant("parallelism", lambda: self.jvm.context.defaultParallelism)
        return found

    @property
    def _hidden(self) -> bool:
        """Whether hidden columns are read, which no file holds."""
        own = set(self.table.schema.names)
        return any(f.name not in own for f in self._columns)

    def _read(self, tasks: list[ReadTask]) -> pa.Table:
        schema = arrow_schema(self._columns)
        return pa.Table.from_batches([b.cast(schema) for t in tasks for b in t.batches()], schema)

    def _partially(self, wanted: PartialAggregation, plan: ScanPlan, predicate: Predicate | None) -> Any:
        """A scan that gives partial aggregates."""

        def partitions_of(plan: ScanPlan) -> list[list[AggregateTask]]:
            reads = (ReadTask(self.table, split, wanted.columns, predicate) for split in plan.splits)
            return [[AggregateTask(read, wanted)] for read in reads]

        fields = answer_fields(wanted, self.table.schema.fields)
        what = describe(self.table, plan, predicate, wanted)
        scan = PythonScanProxy(self.jvm, partitions_of(plan), fields, what, plan, partitions_of=partitions_of)
        if {f.name for f in fields[len(wanted.groups) :]}.isdisjoint(self.table.schema.names):
            scan.bucketing = self._bucketing(plan, wanted.groups)
        return scan

    def _counter(self, plan: ScanPlan) -> Callable[[], int] | None:
        """What counts on the driver: from metadata, by what dead rows are known, or few rows; None if workers do."""
        if pins_key(self.table.schema, all_of(self._predicates)):
            return lambda: sum(task.count() for task in self._count_tasks(plan))
        if self._by_python:
            return None
        if plan.counts_rows:
            return lambda: plan.row_count
        return (lambda: DeletionMask(self.jvm, plan, None).alive) if self._knows_alive(plan) else None

    def _knows_alive(self, plan: ScanPlan) -> bool:
        """Whether all rows that are not dead are wanted, and it is known which are."""
        settled = all(p.columns() <= set(self.table.schema.partition_keys) for p in self._predicates)
        whole = plan.rows_from_indexes is None and not self._row_ids and not has_data_evolution(self.table)
        return settled and whole and has_deletion_mask(plan)

    def _count_tasks(self, plan: ScanPlan) -> list[CountTask]:
        key = self.table.schema.trimmed_primary_keys[:1] or self.table.schema.names[:1]
        predicate = all_of(self._predicates)
        return [CountTask(ReadTask(self.table, split, key, predicate)) for split in plan.splits]

    def _count(self, plan: ScanPlan, what: str) -> Any:
        """A scan that gives the number of rows."""
        count = self._counter(plan)
        if count is None:
            return PythonScanProxy(self.jvm, [[task] for task in self._count_tasks(plan)], COUNT, what, plan)

        def rows() -> pa.Table:
            return pa.table({COUNT[0].name: pa.array([count()], pa.int64())})

        return LocalScanProxy(self.jvm, self.session, COUNT, rows, what)

    def _answer(self, told: MetadataAggregates) -> Any:
        """A scan that gives whole aggregates, as metadata tell them."""
        assert self._aggregation is not None
        fields = answer_fields(self._aggregation, self.table.schema.fields)
        what = describe(self.table, told, all_of(self._predicates), self._aggregation)
        return LocalScanProxy(self.jvm, self.session, fields, lambda: told.rows, what)

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsPushDownRequiredColumns",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
            f"{CONNECTOR}.read.SupportsPushDownLimit",
            f"{CONNECTOR}.read.SupportsPushDownTopN",
            f"{CONNECTOR}.read.SupportsPushDownAggregates",
            f"{CONNECTOR}.read.SupportsPushDownVariantExtractions",
        ]


def _is_little(plan: ScanPlan) -> bool:
    """Whether an index leaves so few rows that the driver reads them quicker than a job would begin."""
    told = plan.rows_from_indexes
    return told is not None and told <= _FEW_ROWS and sum(len(s.files) for s in plan.splits) <= _FEW_FILES


def _narrows(plan: ScanPlan) -> bool:
    """Whether an index leaves so few of the files' rows that readers had better pass over the others."""
    told = plan.rows_from_indexes
    return told is not None and told * _WORTH <= sum(s.row_count for s in plan.splits)


def _raise(error: PaimonError) -> pa.Table:
    """No rows, but the error; a stream that goes on behind what the options name reads none this way."""
    raise error


def describe(
    table: Table,
    plan: ScanPlan | MetadataAggregates,
    predicate: Predicate | None,
    aggregation: PartialAggregation | None = None,
    top: TopN | None = None,
    columns: Sequence[DataField] = (),
) -> str:
    """A scan in one line, for EXPLAIN and the UI."""
    m, told = plan.metrics, plan.rows_from_indexes if isinstance(plan, ScanPlan) else None
    parts = [
        f"snapshot {plan.snapshot.id}" if plan.snapshot else "no snapshot",
        f"files {m.files_read} of {m.files}",
        f"manifests {m.manifests_read} of {m.manifests}",
        f"{m.bytes_read} bytes",
        *([f"{told} rows by global indexes"] if told is not None else []),
        *([f"filter {predicate}"] if predicate is not None else []),
        *([str(aggregation)] if aggregation is not None else []),
        *([str(top)] if top is not None else []),
        *paths_into(columns),
    ]
    return f"paimon {table.name} ({', '.join(parts)})"
