"""Row counts, where possible without reading all rows."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.scan.path import has_all_rows
from paimon_sql.spark.scan.proxies.deletion_mask import DeletionMask, has_deletion_mask
from paimon_sql.spark.scan.pushdown.aggregates import CountTask
from paimon_sql.spark.scan.request import ScanRequest
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import ScanPlan


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
