"""Scan builder: collects what Spark pushes down into a request; the reader is chosen when Spark builds the scan.

Spark evaluates all filters again, except those on partition columns only, which planning decides exactly, those of a
look-up by key, which the driver evaluates, and those of a read by Python workers, which evaluate all translated ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from paimon_sql.errors import NoSuchSnapshotError, PaimonError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.engines.spark import READ_ALLOW_FULL_SCAN, READ_CHANGELOG, READ_PUSH_DOWN_ENABLED
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import DataField, is_floating
from paimon_sql.spark.connector.interfaces import CATALYST_FILTERS, ScanEquality, ScanInterface, ScanTraits
from paimon_sql.spark.conversion.references import first_in_order
from paimon_sql.spark.conversion.types import TypeJson, struct_json
from paimon_sql.spark.expressions.predicates import expression_text, plan_independent, translate_all
from paimon_sql.spark.java.catalyst import Expression, StructType
from paimon_sql.spark.java.connector import Aggregation, SortOrder, VariantExtraction
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.compat import HAS_PRUNED_VARIANTS
from paimon_sql.spark.jvm.gateway import CONNECTOR
from paimon_sql.spark.jvm.session import JvmSession, SessionProxy
from paimon_sql.spark.scan.path import (
    ScanDecision,
    ScanFactory,
    ScanPath,
    ScanPlanner,
    ScanRequest,
    aggregates_faster,
    choose_path,
    is_native,
    may_aggregate_faster,
    row_counter,
    task_maker,
)
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.proxies.planned import (
    MicroBatchStreamProxy,
    PlannedScanProxy,
    PlannedTraits,
    UnplannedScanProxy,
)
from paimon_sql.spark.scan.pushdown.aggregates import (
    JUST_COUNT,
    partial_aggregation,
    simple_aggregation,
    sums_for_averages,
)
from paimon_sql.spark.scan.pushdown.inner_fields import VariantExtractions, answers, extraction_of, narrowed
from paimon_sql.storage.columns.blobs_and_vectors import is_blob
from paimon_sql.storage.expressions.partial_aggregation import PartialAggregation
from paimon_sql.storage.read.metadata_columns import is_tracked, metadata_fields
from paimon_sql.storage.read.readers.data_file import ignoring_files
from paimon_sql.storage.scan.metadata_aggregates import MetadataAggregates, metadata_aggregates
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.read_state import sees_one_branch
from paimon_sql.storage.streams.source import StreamSource
from paimon_sql.storage.table.table import Table


class ScanBuilderProxy(SessionProxy):
    """The builder of one scan.

    Args:
        session: the session.
        table: the table with the options of the read.
        note: called with the snapshot of the plan.
        also: columns that are read even if the query does not need them.

    Attributes:
        reads_unindexed: whether rows that no global index covers are read, regardless of the table's search mode.
        streams: whether a stream can use the scan.
        request: what Spark has pushed.
    """

    implements = [
        CATALYST_FILTERS,
        f"{CONNECTOR}.read.SupportsPushDownRequiredColumns",
        f"{CONNECTOR}.read.SupportsPushDownLimit",
        f"{CONNECTOR}.read.SupportsPushDownTopN",
        f"{CONNECTOR}.read.SupportsPushDownAggregates",
        f"{CONNECTOR}.read.SupportsPushDownVariantExtractions",
    ]

    reads_unindexed = False
    streams = True

    def __init__(
        self,
        session: JvmSession,
        table: Table,
        note: Callable[[Snapshot | None], None] | None = None,
        also: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(session)
        table = table if self.reads_unindexed else ignoring_files(table)
        by_workers = table.ignores_unreadable or not table.options.get(READ_PUSH_DOWN_ENABLED)
        self.request = ScanRequest(
            table, table.schema.fields, by_workers=by_workers, reads_unindexed=self.reads_unindexed
        )
        self._initial_request = self.request
        self._note = note
        self._also_read = also
        self._planner = ScanPlanner(session.jvm)
        self._pushed: Seq[Expression] | None = None
        self._variants: VariantExtractions | None = None
        self._averages = True
        self._answered: tuple[ScanRequest, MetadataAggregates | None] | None = None
        self._from_metadata: MetadataAggregates | None = None

    @property
    def table(self) -> Table:
        """The table with the options of the read."""
        return self.request.table

    # -- push-down ---------------------------------------------------------------------------------------------------

    def pruneColumns(self, struct: StructType) -> None:
        hidden = {f.name: f for f in metadata_fields(self.table.schema)}
        own = {f.name: f for f in self.table.schema.fields}
        requested: dict[str, TypeJson | None] = {f["name"]: f["type"] for f in struct_json(struct)["fields"]}
        if self._also_read:
            requested = {n: requested.get(n) for n in (*own, *hidden) if n in requested or n in self._also_read}
        columns = tuple(narrowed(own[n], kind) if n in own else hidden[n] for n, kind in requested.items())
        if self._variants is not None:
            columns = self._variants.of(columns)
        # Batches without columns would lose the number of rows, so one column is read.
        self.request = replace(self.request, columns=columns or self.table.schema.fields[:1])

    def pushVariantExtractions(self, extractions: Sequence[VariantExtraction]) -> Sequence[bool]:
        # Spark calls this for the whole plan above the scan first, then again for parts of it, with fewer extractions.
        if self._variants is not None or self.reads_unindexed:
            return answers(self.jvm, extractions, False)
        self._variants = wanted = VariantExtractions(tuple(map(extraction_of, extractions)))
        self.request = replace(self.request, columns=wanted.of(self.request.columns))
        if wanted.can_be_extracted and self._reads_natively():
            self._variants = wanted = replace(wanted, extracted=True)
        return answers(self.jvm, extractions, wanted.extracted)

    def supportsDeferCastError(self) -> bool:
        return True

    def pushFilters(self, expressions: Seq[Expression]) -> Seq[Expression]:
        # Blobs are fetched only for matching rows, not to evaluate predicates.
        schema = self.table.schema
        types = {f.name: f.type for f in schema.fields if not is_blob(f.type)}
        ids = {ROW_ID.name: ROW_ID.type} if is_tracked(schema) and ROW_ID.name not in schema.names else {}
        text = expression_text(self.jvm, expressions)
        found = translate_all(text, {**types, **ids})
        row_ids = tuple(p for p in found if p is not None and p.columns() == ids.keys())
        found = [p if p is not None and p.columns() <= types.keys() else None for p in found]
        self.request = replace(
            self.request,
            filters=(*self.request.filters, text),
            predicates=(*self.request.predicates, *(p for p in found if p is not None)),
            row_ids=(*self.request.row_ids, *row_ids),
        )
        if not self._evaluates_filters:
            # Workers evaluate filters per row, Spark's own reader only per row group and page.
            self.request = replace(self.request, by_workers=self._workers_read(()))
        exact = {name for name, kind in types.items() if not is_floating(kind)}
        evaluated = set(types if self._evaluates_filters else schema.partition_keys)
        remaining = [i for i, p in enumerate(found) if p is None or not (p.is_exact and p.columns() <= evaluated)]
        pushed = [i for i, p in enumerate(found) if p is None or p.columns() <= exact]
        self._pushed, rest = self._subsets(expressions, len(found), pushed, remaining)
        return rest

    def _subsets(self, expressions: Seq[Expression], count: int, *choices: list[int]) -> list[Seq[Expression]]:
        """The expressions of each choice of indexes; they are fetched from the JVM only for proper subsets."""
        items = self.jvm.items(expressions) if any(0 < len(chosen) < count for chosen in choices) else []
        return [expressions if len(c) == count else self.jvm.seq(items[i] for i in c) for c in choices]

    def pushedFilters(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def pushLimit(self, limit: int) -> bool:
        if self._returns_aggregates or self.table.ignores_unreadable:
            return False
        self.request = replace(self.request, limit=limit)
        return True

    def pushTopN(self, orders: Sequence[SortOrder], limit: int) -> bool:
        if self._returns_aggregates or self.table.ignores_unreadable:
            return False
        top = first_in_order(orders, limit, self.table.schema)
        self.request = replace(self.request, top=top)
        return top is not None

    def isPartiallyPushed(self) -> bool:
        return True

    def supportCompletePushDown(self, aggregation: Aggregation) -> bool:
        # Push-down is complete if the scan returns one row per group, so that Spark need not merge.
        request, fields = self.request, self.table.schema.fields
        simple, answer = simple_aggregation(self.jvm, aggregation, fields), None
        self._answered = None
        if simple is not None and not request.row_ids and not self.table.ignores_unreadable:
            answer = metadata_aggregates(self.table, simple, request.predicate)
        if answer is not None:
            self._answered = replace(request, aggregation=simple), answer
            return True
        if simple == JUST_COUNT:
            counted = replace(request, counts_rows=True)
            self._answered = counted, None
            return row_counter(self.jvm, counted, self._planner.plan(counted)) is not None
        # Only this call shows averages: the pushed aggregation has sums and counts instead.
        self._averages = self._averages and (not self._may_aggregate or sums_for_averages(aggregation, fields))
        return False

    def pushAggregation(self, aggregation: Aggregation) -> bool:
        # Spark calls this only if no filter remains for it, so the request selects the rows completely.
        if self._answered is not None:
            self.request, self._from_metadata = self._answered
            return True
        # Parsing an aggregation takes round trips, which reads by the JVM should not pay for.
        schema = self.table.schema
        if not self._averages or not self._may_aggregate or self.request.is_lookup:
            return False
        partial = partial_aggregation(aggregation, schema.fields)
        if partial is None or not self._aggregates(partial):
            return False
        self.request = replace(self.request, aggregation=partial)
        return True

    # -- choice of the reader ----------------------------------------------------------------------------------------

    @property
    def _returns_aggregates(self) -> bool:
        return self.request.counts_rows or self.request.aggregation is not None

    @property
    def _extracts(self) -> bool:
        """Whether the scan returns values extracted from variants, regardless of its reader."""
        return self._variants is not None and self._variants.extracted

    @property
    def _evaluates_filters(self) -> bool:
        """Whether the scan evaluates translated filters exactly, so that Spark need not."""
        return self.request.by_workers or self.request.is_lookup

    @property
    def _may_aggregate(self) -> bool:
        """Whether Python workers may compute partial aggregates: only then Spark's aggregation is worth parsing."""
        fields = self.table.schema.fields
        return self._workers_read(fields) or may_aggregate_faster(self._planner.plan(self.request), fields)

    def _aggregates(self, partial: PartialAggregation) -> bool:
        """Whether Python workers compute partial aggregates: they have to read the rows, or are faster than Spark."""
        columns = [self.table.schema.field(name) for name in partial.columns]
        return self._workers_read(columns) or aggregates_faster(self._planner.plan(self.request), partial)

    def _workers_read(self, columns: Sequence[DataField]) -> bool:
        """Whether Python workers have to read the rows, so that they should filter and aggregate them as well."""
        plan = self._planner.plan(self.request)
        return bool(plan.splits) and (self.request.by_workers or not is_native(self.jvm, plan, columns))

    def _reads_natively(self) -> bool:
        """Whether Spark's own reader will read all rows, unless a later push-down changes that."""
        if self.request.by_workers or not HAS_PRUNED_VARIANTS:
            return False
        plan = self._planner.plan(self.request)
        return (
            bool(plan.splits)
            and plan.rows_from_indexes is None
            and not self.table.layout.groups_files
            and not self.request.is_lookup
            and is_native(self.jvm, plan, self.request.columns)
        )

    def _decision(self, *, is_local: bool = True) -> ScanDecision:
        """The plan of the request and its reader: the driver only if the scan may be local."""
        request = self.request
        if self._from_metadata is not None:
            return ScanDecision(request, self._from_metadata, ScanPath.METADATA)
        plan = self._planner.plan(request)
        self._refuse_full_scan(plan)
        counts = request.counts_rows and row_counter(self.jvm, request, plan) is not None
        extracts = self._extracts or not is_local
        path = choose_path(self.jvm, request, plan, counts_on_driver=counts, extracts=extracts)
        return ScanDecision(request, plan, path)

    def _refuse_full_scan(self, plan: ScanPlan) -> None:
        """Raise if the query would read all files of a partitioned table and the options forbid that."""
        table, files = self.table, plan.metrics.files
        if self.reads_unindexed or not table.schema.partition_keys or table.options.get(READ_ALLOW_FULL_SCAN):
            return
        if files and plan.metrics.files_read == files:
            raise UnsupportedError(
                f"{table.name}: Full scan is not supported. The query would read all {files} files of the table.",
                remedy=f"Filter by {', '.join(table.schema.partition_keys)}, or set"
                f" '{READ_ALLOW_FULL_SCAN.key}' = 'true'.",
            )

    # -- the scan ----------------------------------------------------------------------------------------------------

    def build(self) -> ScanInterface:
        columns, traits = self.request.columns, ScanTraits(self._stream)
        if self._may_be_stream:
            return UnplannedScanProxy(self.session, columns, f"paimon {self.table.name}", self._all_rows, traits=traits)
        try:
            return self._planned(self._decision())
        except NoSuchSnapshotError as error:
            return LocalScanProxy(self.session, columns, self.table.name, partial(_raise, error), traits=traits)

    @property
    def _may_be_stream(self) -> bool:
        """Whether Spark has pushed nothing: it does so for streams, and for few batches."""
        return self.streams and self.request is self._initial_request

    def _all_rows(self) -> PlannedScanProxy:
        scan = self._planned(self._decision(is_local=False))
        assert isinstance(scan, PlannedScanProxy)
        return scan

    def _planned(self, decision: ScanDecision) -> ScanInterface:
        scan = self._scan(decision)
        if self._note is not None:
            self._note(decision.plan.snapshot)
        return scan

    def _scan(self, decision: ScanDecision) -> ScanInterface:
        plan, runtime = decision.plan, None
        if isinstance(plan, ScanPlan) and decision.path is not ScanPath.DRIVER and not self._returns_aggregates:
            runtime = self._planner.runtime_filters(decision.request, plan)
        traits = PlannedTraits(self._stream, self._equality(plan.snapshot), runtime)
        return ScanFactory(self.session, self._pushed, self._variants, traits).scan(decision)

    def _equality(self, snapshot: Snapshot | None) -> ScanEquality | None:
        """The identity of the scan's rows; None if the snapshot does not determine them."""
        request, table = self.request, self.table
        if not sees_one_branch(table):
            return None
        pushed = (request.columns, request.limit, request.top, request.counts_rows, request.aggregation)
        reads = (snapshot, request.by_workers, request.reads_unindexed)
        state = (table.branch, table.read_optimized, table.schema, *reads)
        extractions = () if self._variants is None else self._variants.given
        filters = tuple(map(plan_independent, request.filters))
        return ScanEquality(table.path, request.names, filters, (state, pushed, extractions))

    def _stream(self) -> MicroBatchStreamProxy:
        if self.table.options.get(READ_CHANGELOG):
            raise UnsupportedError(
                f"{self.table.name}: this PySpark does not pass '{READ_CHANGELOG.key}' to catalogs.",
                remedy="Read `t$audit_log`, which returns the rows with their row kinds.",
            )
        request = self.request
        source = StreamSource(request.table, request.predicate)
        # Splits of changes are tasks like any other: the rows of their files, unmerged.
        return MicroBatchStreamProxy(self.jvm, source, request.columns, task_maker(request))


def _raise(error: PaimonError) -> pa.Table:
    """Raise an error when rows are read; a stream, which may continue after the missing snapshot, never calls this."""
    raise error
