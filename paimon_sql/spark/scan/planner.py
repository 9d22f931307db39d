"""Requests planned, each once."""

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
from paimon_sql.storage.scan.global_index.lookup import IndexAnswers
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.seen import depends_on_snapshot_alone


class ScanPlanner:
    """Plans the requests of one scan builder, and remembers the last plan and the last answers of global indexes."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._planned: tuple[Hashable, ScanPlan] | None = None
        self._asked: tuple[Hashable, IndexAnswers] | None = None

    def plan(self, request: ScanRequest) -> ScanPlan:
        """The plan of a request; that of an earlier one which differs in nothing that plans depend on."""
        if self._planned is None or self._planned[0] != request.planning:
            started = time.monotonic()
            plan = self._plan(request, request.predicate, self._answers(request))
            plan.metrics.seconds = time.monotonic() - started
            self._planned = request.planning, plan
        return self._planned[1]

    def runtime_filters(self, request: ScanRequest, plan: ScanPlan) -> RuntimeFilters | None:
        """What takes conditions while the query runs; None where a plan of the same snapshot could be another one."""
        is_narrowed = (request.limit, request.top) != (None, None)
        if is_narrowed or plan.snapshot is None or not depends_on_snapshot_alone(request.table):
            return None
        own = [name for name in request.names if name in request.table.schema.names]
        replan = partial(self._replan, request, self._answers(request), plan.snapshot)
        return RuntimeFilters(self._jvm, plan, own, replan)

    @property
    def parallelism(self) -> int:
        """How many tasks run at a time."""
        found: int = self._jvm.constant("parallelism", lambda: self._jvm.context.defaultParallelism)
        return found

    def _replan(
        self, request: ScanRequest, answers: IndexAnswers, snapshot: Snapshot, predicate: Predicate
    ) -> ScanPlan:
        return self._plan(request, all_of([*request.predicates, predicate]), answers, snapshot)

    def _answers(self, request: ScanRequest) -> IndexAnswers:
        asked = tuple(map(id, request.predicates))
        if self._asked is None or self._asked[0] != asked:
            self._asked = asked, IndexAnswers(request.predicate, thorough=request.thorough)
        return self._asked[1]

    def _plan(
        self,
        request: ScanRequest,
        predicate: Predicate | None,
        answers: IndexAnswers,
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
