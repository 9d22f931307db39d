"""Scan factory: Spark's ``Scan`` for a decision, one class per path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hadoop_files import reads
from paimon_sql.spark.scan.counting import count_tasks, row_counter
from paimon_sql.spark.scan.path import ScanDecision, ScanPath
from paimon_sql.spark.scan.proxies.deletion_mask import MaskedScanProxy, can_mask
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.proxies.native import NativeScanProxy
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy
from paimon_sql.spark.scan.proxies.python import PythonScanProxy
from paimon_sql.spark.scan.pushdown.aggregates import COUNT, AggregateTask, answer_fields
from paimon_sql.spark.scan.pushdown.nested_columns import parts_of
from paimon_sql.spark.scan.pushdown.variants import VariantExtractions
from paimon_sql.spark.scan.request import ScanRequest
from paimon_sql.spark.scan.rules.variants_above import PlaceholderScanProxy
from paimon_sql.storage.expressions.predicates import all_of
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.metadata_aggregates import MetadataAggregates
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.write.buckets.reported_partitioning import bucketing_of


@dataclass(frozen=True)
class JvmReader:
    """Spark's own Parquet reader."""

    jvm: Jvm

    def reads(self, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
        """Whether it can access the files and read these columns."""
        return plan.is_native(columns) and reads(self.jvm, plan.stores, plan.table.file_io)

    def masks(self, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
        """Whether it can drop rows by a deletion mask: those deleted, or overwritten by newer ones of their keys."""
        return can_mask(self.jvm, plan, columns)


@dataclass(frozen=True)
class ScanFactory:
    """Factory of scans.

    Attributes:
        jvm: the JVM.
        session: the JVM's session.
        pushed: Catalyst expressions by which Spark's own reader may skip row groups and pages.
        variants: the values to extract from variants; None if Spark pushed none.
        is_divisible: whether Spark may divide the splits anew, by the buckets of their rows.
    """

    jvm: Jvm
    session: Any
    pushed: Any
    variants: VariantExtractions | None
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

        return LocalScanProxy(self.jvm, self.session, request.columns, rows, decision.describe())

    def _rows(self, decision: ScanDecision, plan: ScanPlan) -> PlannedScanProxy:
        """A scan whose tasks run on executors."""
        request, what = decision.request, decision.describe()
        structs = self.variants.structs if self.variants is not None else None
        native_arguments = (self.jvm, self.session, request.columns, self.pushed, what, plan)
        if decision.path is ScanPath.NATIVE:
            return self._with_bucketing(NativeScanProxy(*native_arguments, structs), request)
        twin = None
        if decision.path is ScanPath.MASKED:
            twin = MaskedScanProxy(*native_arguments, request.predicate, structs)

        def partitions_of(plan: ScanPlan) -> list[list[ReadTask]]:
            return [[task] for task in read_tasks(request, plan)]

        arguments = (self.jvm, partitions_of(plan), request.columns, what, plan)
        if self.variants is not None and structs:
            by_workers = PythonScanProxy(*arguments, partitions_of=partitions_of)
            return self._with_bucketing(PlaceholderScanProxy(by_workers, twin, self.variants), request)
        return self._with_bucketing(PythonScanProxy(*arguments, twin, partitions_of), request)

    def _with_bucketing(self, scan: PlannedScanProxy, request: ScanRequest) -> PlannedScanProxy:
        if self.is_divisible:
            scan.bucketing = bucketing_of(scan.plan, request.names)
            for other in scan.replacements:
                other.bucketing = scan.bucketing
        return scan

    def _partial_aggregates(self, decision: ScanDecision, plan: ScanPlan) -> PythonScanProxy:
        """A scan that returns partial aggregates, which Spark merges."""
        request = decision.request
        aggregation = request.aggregation
        assert aggregation is not None

        def partitions_of(plan: ScanPlan) -> list[list[AggregateTask]]:
            reads = (ReadTask(request.table, split, aggregation.columns, request.predicate) for split in plan.splits)
            return [[AggregateTask(read, aggregation)] for read in reads]

        fields = answer_fields(aggregation, request.table.schema.fields)
        what = decision.describe()
        scan = PythonScanProxy(self.jvm, partitions_of(plan), fields, what, plan, partitions_of=partitions_of)
        if {f.name for f in fields[len(aggregation.groups) :]}.isdisjoint(request.table.schema.names):
            scan.bucketing = bucketing_of(plan, aggregation.groups)
        return scan

    def _count(self, decision: ScanDecision, plan: ScanPlan) -> ScanInterface:
        """A scan that returns the number of rows."""
        request, what = decision.request, decision.describe()
        count = row_counter(self.jvm, request, plan)
        if decision.path is ScanPath.WORKERS or count is None:
            return PythonScanProxy(self.jvm, [[task] for task in count_tasks(request, plan)], COUNT, what, plan)
        counted = count

        def rows() -> pa.Table:
            return pa.table({COUNT[0].name: pa.array([counted()], pa.int64())})

        return LocalScanProxy(self.jvm, self.session, COUNT, rows, what)

    def _from_metadata(self, decision: ScanDecision, answer: MetadataAggregates) -> LocalScanProxy:
        """A scan that returns metadata-only aggregates."""
        aggregation = decision.request.aggregation
        assert aggregation is not None
        fields = answer_fields(aggregation, decision.request.table.schema.fields)
        return LocalScanProxy(self.jvm, self.session, fields, lambda: answer.rows, decision.describe())


def read_tasks(request: ScanRequest, plan: ScanPlan) -> list[ReadTask]:
    """One read task per split of a plan."""
    predicate = all_of([p for p in (request.predicate, plan.condition) if p is not None])
    parts = parts_of(request.columns, request.table.schema.fields)
    return [
        ReadTask(request.table, split, request.names, predicate, request.row_id_predicate, parts)
        for split in plan.splits
    ]
