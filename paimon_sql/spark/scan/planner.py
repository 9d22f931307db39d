"""Planning of scan requests, cached."""

from __future__ import annotations

import time
from collections.abc import Hashable
from functools import partial

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.scan.pushdown.runtime_filters import RuntimeFilters
from paimon_sql.spark.scan.reporting.split_size import split_size
from paimon_sql.spark.scan.request import ScanRequest
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.scan.global_index.lookup import IndexResults
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.snapshot_to_read import depends_on_snapshot_alone


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
            plan.metrics.seconds = time.monotonic() - started
            self._cached_plan = request.planning, plan
        return self._cached_plan[1]

    def runtime_filters(self, request: ScanRequest, plan: ScanPlan) -> RuntimeFilters | None:
        """The runtime filters of a scan; None where planning the same snapshot again could give another plan."""
        is_narrowed = (request.limit, request.top) != (None, None)
        if is_narrowed or plan.snapshot is None or not depends_on_snapshot_alone(request.table):
            return None
        own = [name for name in request.names if name in request.table.schema.names]
        replan = partial(self._replan, request, self._answers(request), plan.snapshot)
        return RuntimeFilters(self._jvm, plan, own, replan)

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at a time."""
        parallelism: int = self._jvm.constant("parallelism", lambda: self._jvm.context.defaultParallelism)
        return parallelism

    def _replan(
        self, request: ScanRequest, answers: IndexResults, snapshot: Snapshot, predicate: Predicate
    ) -> ScanPlan:
        return self._plan(request, all_of([*request.predicates, predicate]), answers, snapshot)

    def _answers(self, request: ScanRequest) -> IndexResults:
        key = tuple(map(id, request.predicates))
        if self._cached_answers is None or self._cached_answers[0] != key:
            self._cached_answers = key, IndexResults(request.predicate, thorough=request.reads_unindexed)
        return self._cached_answers[1]

    def _plan(
        self,
        request: ScanRequest,
        predicate: Predicate | None,
        answers: IndexResults,
        snapshot: Snapshot | None = None,
    ) -> ScanPlan:
        return plan_scan(
            request.table,
            predicate,
            snapshot=snapshot,
            limit=request.limit,
            parallelism=self.parallelism,
            columns=set(request.names),
            row_ids=request.row_id_predicate,
            answers=answers,
            top=request.top,
            split_size=split_size(self._jvm, request.table, request.columns),
        )
