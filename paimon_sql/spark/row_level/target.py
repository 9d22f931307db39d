"""Target of row-level statements, for Spark's rules of row-level operations.

These rules rewrite UPDATE, DELETE and MERGE to a query for the changed rows: they match assignments with columns, add
default values and casts, and validate the statement. From the table they need only the columns that identify a row. The
query is taken from the plan, so the writer that Spark would request next is never built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.row_tracking import (
    BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED,
    BLOB_VIEW_RESOLVE_ENABLED,
)
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.conversion.references import hidden_columns, references_to
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.connector import ConnectorExpression, StringMap
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, Jvm
from paimon_sql.spark.jvm.proxy import Proxy, python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import session_options, with_session_options
from paimon_sql.spark.rules.analyzer import RELATION
from paimon_sql.spark.scan.builder import ScanBuilderProxy
from paimon_sql.spark.scan.path import ScanDecision, ScanFactory, ScanPath, read_tasks
from paimon_sql.spark.scan.proxies.planned import PLAIN, PythonScanProxy
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.columns.blobs_and_vectors import descriptor_columns, view_columns
from paimon_sql.storage.read.metadata_columns import metadata_fields
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_UNRESOLVED_BLOBS = {BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED.key: "false", BLOB_VIEW_RESOLVE_ENABLED.key: "false"}


@dataclass(frozen=True)
class StatementRun:
    """The execution of one statement that changes a table.

    Attributes:
        session: the session.
        catalog: the table's catalog.
        identifier: the table.
    """

    session: JvmSession
    catalog: Catalog
    identifier: Identifier

    def table(self, given: Mapping[str, str], refusal: str) -> Table:
        """The table, or its branch, with the options of the session and of the statement.

        Args:
            given: the options of the statement.
            refusal: why a system table is refused, in its error.
        """
        identifier = self.identifier
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table{refusal}.")
        options = session_options(self.session, self.catalog.name, identifier)
        given = {k: v for k, v in given.items() if k not in TRAVEL_KEYS}
        opened = writable(self.catalog.table(identifier))
        table = with_branch(opened, given.get(BRANCH.key) or options.get(BRANCH.key))
        return with_session_options(table, options, writes=True).with_options(given)


def without_ctes(jvm: Jvm, parsed: LogicalPlan) -> tuple[LogicalPlan, Callable[[LogicalPlan], LogicalPlan]]:
    """A parsed statement without its common table expressions, and a function that puts them around a plan."""
    if parsed.getClass().getSimpleName() != "UnresolvedWith":
        return parsed, lambda plan: plan
    return parsed.child(), lambda plan: parsed.withNewChildren(jvm.seq([plan]))


def relation_of(table: TableProxy, catalog: str, identifier: Identifier) -> LogicalPlan:
    """A table of a catalog as the leaf of a plan."""
    jvm = table.jvm
    name = jvm.cls(f"{CATALOG}.Identifier").of(jvm.strings([identifier.database]), identifier.object_name)
    owner = table.session.state.catalogManager().catalog(catalog)
    return jvm.cls(RELATION).create(table, jvm.some(owner), jvm.some(name))


@dataclass(eq=False)
class TargetProxy(TableProxy):
    """A table whose rows are identified by columns or metadata columns.

    Attributes:
        row_id: the columns that identify a row.
        named: the metadata columns that the statement may name, without those of the row id.
        scan: the scan builder that was created last.
        by_bucket: whether each bucket should be read by one task, so that the task can write it as well.
    """

    # No TruncatableTable: Spark must rewrite a DELETE without a condition like any other.
    implements = [
        f"{CATALOG}.SupportsRead",
        f"{CATALOG}.SupportsWrite",
        f"{CATALOG}.SupportsMetadataColumns",
        f"{CATALOG}.SupportsRowLevelOperations",
    ]
    row_id: tuple[str, ...]
    named: Sequence[str] = ()
    by_bucket: bool = field(default=False, kw_only=True)
    scan: TargetScanProxy | None = field(default=None, init=False)

    def equals(self, other: object) -> bool:
        # If the table of a copied relation were not equal, Spark would create its metadata columns again, with ids that
        # nothing refers to.
        return other is self or (isinstance(other, JavaObject) and python_object(self.jvm, other) is self)

    def metadataColumns(self) -> Sequence[JavaObject]:
        # Spark requires NOT NULL of the columns that identify a row.
        fields = [
            replace(f, type=f.type.as_nullable(False)) if f.name in self.row_id else f
            for f in metadata_fields(self.table.schema)
        ]
        return hidden_columns(self.jvm, fields)

    def _is_like(self, other: SchemaTable) -> bool:
        return False

    def newRowLevelOperationBuilder(self, info: JavaObject) -> OperationProxy:
        return OperationProxy(self.jvm, self, info.command())

    def newScanBuilder(self, options: StringMap) -> TargetScanProxy:
        # References to blobs are rewritten unchanged, so they are not resolved.
        has_references = descriptor_columns(self.table.schema) | view_columns(self.table.schema)
        table = self.table.with_options(_UNRESOLVED_BLOBS if has_references else {})
        self.scan = TargetScanProxy(self.session, table, by_bucket=self.by_bucket)
        return self.scan


class TargetScanProxy(ScanBuilderProxy):
    """Builder of the target's scan.

    Attributes:
        buckets: the reads of each bucket, if each is read by one task; None if not.
    """

    reads_unindexed = True
    streams = False

    def __init__(self, session: JvmSession, table: Table, *, by_bucket: bool) -> None:
        super().__init__(session, table)
        self._by_bucket = by_bucket
        self.buckets: list[list[ReadTask]] | None = None

    @property
    def _evaluates_filters(self) -> bool:
        return self._by_bucket or super()._evaluates_filters

    def _scan(self, decision: ScanDecision) -> ScanInterface:
        plan, is_local = decision.plan, decision.path is ScanPath.DRIVER
        if self._by_bucket and not is_local and not self._returns_aggregates and isinstance(plan, ScanPlan):
            return self._scan_of_buckets(decision, plan)
        # No runtime filters: only the statement's own conditions select rows. Spark must not divide the reads of tasks
        # again. And the scan is equal only to itself: only it has the buckets of its tasks.
        return ScanFactory(self.session, self._pushed, self._variants, PLAIN, is_divisible=False).scan(decision)

    def _scan_of_buckets(self, decision: ScanDecision, plan: ScanPlan) -> PythonScanProxy:
        tasks = read_tasks(decision.request, plan)
        buckets: dict[tuple[bytes, int], list[ReadTask]] = {}
        for task in tasks:
            buckets.setdefault((task.split.partition, task.split.bucket), []).append(task)
        # With fewer buckets than workers, some workers would be idle.
        if len(buckets) >= min(len(tasks), self.jvm.parallelism):
            self.buckets = list(buckets.values())
        partitions = self.buckets or [[task] for task in tasks]
        columns, what = decision.request.columns, decision.describe()
        return PythonScanProxy(self.session, columns, what, plan, lambda plan: partitions, is_grouped=True)


@dataclass(eq=False)
class OperationProxy(Proxy):
    """One statement's operation on a table, and its builder (Spark: ``RowLevelOperation``)."""

    implements = [f"{CONNECTOR}.write.SupportsDelta", f"{CONNECTOR}.write.RowLevelOperationBuilder"]
    target: TargetProxy
    operation: JavaObject

    def build(self) -> OperationProxy:
        return self

    def toString(self) -> str:
        return f"changes of {self.target.table.name}"

    def description(self) -> str:
        return self.toString()

    def command(self) -> JavaObject:
        return self.operation

    def newScanBuilder(self, options: StringMap) -> TargetScanProxy:
        return self.target.newScanBuilder(options)

    def newWriteBuilder(self, info: object) -> Proxy:
        raise UnsupportedError(f"{self.target.table.name}: changes are written by the statement itself.")

    def requiredMetadataAttributes(self) -> Sequence[ConnectorExpression]:
        # Spark reads only metadata columns that are required here.
        return references_to(self.jvm, self.target.named)

    def rowId(self) -> Sequence[ConnectorExpression]:
        return references_to(self.jvm, self.target.row_id)

    def representUpdateAsDeleteAndInsert(self) -> bool:
        return False
