"""Scan path: the reader of a scan (driver, Spark's reader, Python workers), chosen from a request and its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.scan.pushdown.variants import paths_into
from paimon_sql.spark.scan.request import ScanRequest
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.expressions.partial_aggregates import PartialAggregation
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.metadata_aggregates import MetadataAggregates
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.selection.top_n import TopN
from paimon_sql.storage.table.table import Table

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


class NativeReader(Protocol):
    """The capabilities of Spark's own reader for the files of a plan."""

    def reads(self, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
        """Whether it can access the files and read these columns."""

    def masks(self, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
        """Whether it can drop rows by a deletion mask: those deleted, or overwritten by newer ones of their keys."""


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
    return plan.rows_from_indexes is None and not request.row_ids and not has_data_evolution(request.table)


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
