"""Masked scans: Spark's own reader, and a filter above it that drops rows by a deletion mask.

The reader adds the position of each row. It takes the bits of a file's masked rows as if they were a partition value,
so that only the tasks that read the file get them. A filter tests one bit per row (`DeletedRowFilter`).

If the query has a filter, the mask becomes part of it: after the conditions that cannot fail, which leave fewer bits to
test, and before the others, which must not see the values of masked rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_sql.cache import Cache
from paimon_sql.format.schema.types import DataField
from paimon_sql.process import share
from paimon_sql.spark.conversion.types import FieldJson, StructJson, spark_struct, struct_of
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.catalyst import Attribute, Expression, InternalRow, LogicalPlan, StructType
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import EXPRESSIONS, PLANS, Jvm
from paimon_sql.spark.rules.compiled_rule import compiled_exchange
from paimon_sql.spark.rules.optimizer import PlanRule, new_attribute, new_literal, with_parts, with_scans
from paimon_sql.spark.scan.proxies.file_partitions import binary_rows
from paimon_sql.spark.scan.proxies.native import NativeScanProxy, returns_batches
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy, scans_with_native_twin
from paimon_sql.spark.scan.pushdown.inner_fields import Structs, with_structs
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.read.deletion_mask import DeletionMasks, MaskedSplit, mask_of, selects, size_of
from paimon_sql.storage.scan.plan import ScanPlan

POSITION: FieldJson = {"name": "_tmp_metadata_row_index", "type": "long", "nullable": True, "metadata": {}}
"""The column that Spark's Parquet reader fills with the position of each row in its file."""
MASK: FieldJson = {"name": "__paimon_dead_rows", "type": "binary", "nullable": False, "metadata": {}}
"""The bits of a file's masked rows; rows after the last bit are live."""
_MAX_ROWS = 1 << 29
"""Maximum rows in files with masked rows: their bits take 64 MiB on the driver."""
_FEW_BYTES = 64 * 1024 * 1024
"""Maximum bytes of files that the driver merges itself, which is then faster than a job."""
_THREADS = os.cpu_count() or 2
_MAX_CACHED_BYTES = 64 * 1024 * 1024
_merged_bits = share(lambda: Cache[tuple[object, ...], DeletionMasks](_MAX_CACHED_BYTES, weigh=size_of))
"""The bits of merged splits, by their identity; files never change."""


class DeletionMask:
    """The deletion mask of a plan's files.

    Args:
        jvm: the JVM.
        plan: the plan; its splits are raw, or merging them only selects rows.
        predicate: the condition of the scan; keys that it excludes need not be merged, and their rows are masked.
    """

    def __init__(self, jvm: Jvm, plan: ScanPlan, predicate: Predicate | None) -> None:
        self._jvm = jvm
        self._plan = plan
        on_key = conjuncts_on(predicate, plan.table.schema.trimmed_primary_keys)
        self._merging = [MaskedSplit(s.table or plan.table, s, on_key) for s in plan.splits if not s.raw]

    @cached_property
    def bits(self) -> dict[str, bytes]:
        """The bits of the files with masked rows, by path."""
        return self._deleted() | self._merged()

    @property
    def live_rows(self) -> int:
        """The number of live rows in the files."""
        rows = sum(f.row_count for split in self._plan.splits for f in split.files)
        return rows - sum(int.from_bytes(bits, "little").bit_count() for bits in self.bits.values())

    def _deleted(self) -> dict[str, bytes]:
        """The bits of the files that have a deletion vector and are not merged."""
        plan, found = self._plan, {}
        for split in filter(lambda s: s.raw, plan.splits):
            for f in split.files:
                if f.file_name in split.deletions:
                    path = plan.owner(split).locations.data_file(split.partition, split.bucket, f)
                    found[path] = split.deletions[f.file_name]
        io = plan.table.file_io
        bits = map_in_threads(lambda deletion: mask_of(deletion.read(io)), list(found.values()), _THREADS)
        return dict(zip(found, bits, strict=True))

    def _merged(self) -> dict[str, bytes]:
        """The bits of the files that are merged."""
        cache = _merged_bits()
        cached = [cache.get(merging.identity) for merging in self._merging]
        new = [merging for merging, bits in zip(self._merging, cached, strict=True) if bits is None]
        is_small = sum(merging.size for merging in new) <= _FEW_BYTES
        executor = LocalExecutor(_THREADS) if is_small else SparkExecutor(self._jvm)
        found = executor.map(MaskedSplit.masks, new)
        merged: dict[str, bytes] = {}
        for merging, bits in zip(self._merging, cached, strict=True):
            if bits is None:
                bits = next(found)
                if merging.on_key is None:
                    cache.put(merging.identity, bits)
            split, locations = merging.split, merging.table.locations
            merged |= {locations.data_file(split.partition, split.bucket, f): bits[f.file_name] for f in split.files}
        return merged


@dataclass(eq=False)
class MaskedScanProxy(NativeScanProxy):
    """A Parquet scan with two columns at the end: the row's position, and the bits of its file's masked rows.

    Attributes:
        predicate: see `DeletionMask`.
    """

    predicate: Predicate | None

    @cached_property
    def _mask(self) -> DeletionMask:
        return DeletionMask(self.jvm, self.plan, self.predicate)

    def readSchema(self) -> StructType:
        return self.jvm.struct(_with_mask_columns(self.columns, self.structs))

    def _constant_columns(self) -> StructType:
        return self.jvm.struct(struct_of([MASK]))

    def _constants(self, paths: Sequence[str]) -> Sequence[InternalRow]:
        return binary_rows(self.jvm, [self._mask.bits.get(path, b"") for path in paths])


def can_mask(jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField]) -> bool:
    """Whether a plan has a deletion mask that Spark's reader can apply: it adds positions when it reads in batches.

    A reader that returns rows (of more than a hundred columns, or without code generation) would copy the bits of a
    file into each of its rows.
    """
    return has_deletion_mask(plan) and returns_batches(jvm, jvm.struct(_with_mask_columns(fields, {})))


def has_deletion_mask(plan: ScanPlan) -> bool:
    """Whether the rows of a plan are those of its files without masked ones, whose bits fit on the driver."""
    return plan.rows_to_mask <= _MAX_ROWS and all(s.raw or selects(s.table or plan.table, s) for s in plan.splits)


def _with_mask_columns(fields: Sequence[DataField], structs: Structs) -> StructJson:
    return struct_of([*with_structs(spark_struct(fields), structs)["fields"], POSITION, MASK])


_TYPES = "org.apache.spark.sql.types"
_FILTER, _PROJECT = f"{PLANS}.Filter", f"{PLANS}.Project"
_EXPRESSION, _AND = f"{EXPRESSIONS}.Expression", f"{EXPRESSIONS}.And"
_SAFE = (
    *("AttributeReference", "Literal", "BinaryComparison", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "InSet"),
    "StringPredicate",
)
"""The expressions that do not fail for any values."""
_FILTERS = "paimon.FiltersForDeadRows"
_IS_SAFE = f"""
    private static boolean isPlain({_EXPRESSION} e) {{
        if (!({" || ".join(f"e instanceof {EXPRESSIONS}.{name}" for name in _SAFE)})) return false;
        scala.collection.Iterator children = e.children().iterator();
        while (children.hasNext()) if (!isPlain(({_EXPRESSION}) children.next())) return false;
        return true;
    }}"""
_JOINED = f"""
    private static void join({_EXPRESSION} e, {_EXPRESSION}[] both) {{
        if (e instanceof {_AND}) {{
            join((({_AND}) e).left(), both);
            join((({_AND}) e).right(), both);
            return;
        }}
        int which = isPlain(e) ? 0 : 1;
        both[which] = both[which] == null ? e : new {_AND}(both[which], e);
    }}"""
_MERGED = f"""
    private Object instead(Object plan) {{
        if (!(plan instanceof {_FILTER}) || !((({_FILTER}) plan).child() instanceof {_PROJECT})) return null;
        {_FILTER} filter = ({_FILTER}) plan;
        {_PROJECT} project = ({_PROJECT}) filter.child();
        if (!(project.child() instanceof {_FILTER})) return null;
        {_FILTER} below = ({_FILTER}) project.child();
        if (below.condition() != this.alive || !filter.condition().deterministic()) return null;
        {_EXPRESSION}[] both = new {_EXPRESSION}[] {{ null, this.alive }};
        join(filter.condition(), both);
        {_EXPRESSION} all = both[0] == null ? both[1] : new {_AND}(both[0], both[1]);
        return new {_PROJECT}(project.projectList(), new {_FILTER}(all, below.child()));
    }}"""


class DeletedRowFilter(PlanRule):
    """Replaces a scan by Python workers that has a native twin with Spark's own reader and a filter.

    A session without the rule reads the same rows, by Python workers.
    """

    reads_scans = True

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        if not scans_with_native_twin():
            return plan
        return with_scans(self.jvm, plan, self._masked, self._merged_filters)

    def _merged_filters(self, plan: LogicalPlan) -> LogicalPlan:
        """A plan with each mask filter merged into the query's own filter, after the conditions that cannot fail.

        Conditions that fail for some values must not see the values of masked rows.
        """

        def compiled() -> JavaObject:
            members = (f"public {_EXPRESSION} alive;", _IS_SAFE, _JOINED, _MERGED)
            return compiled_exchange(self.jvm, _FILTERS, members, alive=self._parts()[2])

        return plan.transformUp(self.jvm.constant("puts filters for dead rows behind conditions", compiled))

    def _parts(self) -> tuple[Attribute, Attribute, Expression]:
        # The attributes are not visible above the filter, so all scans can share them.
        def made() -> tuple[Attribute, Attribute, Expression]:
            position, mask = (
                new_attribute(self.jvm, f["name"], f["type"], nullable=f["nullable"]) for f in (POSITION, MASK)
            )
            return position, mask, self._is_live(position, mask)

        return self.jvm.constant("parts of a filter for dead rows", made)

    def _masked(self, relation: LogicalPlan, scan: object) -> LogicalPlan | None:
        if not isinstance(scan, PlannedScanProxy) or scan.native_twin is None:
            return None
        jvm = self.jvm
        output = relation.output()
        position, mask, is_live = self._parts()
        wider = with_parts(jvm, relation, scan=scan.native_twin, output=output.appended(position).appended(mask))
        filtered = jvm.new(f"{PLANS}.Filter", is_live, wider)
        return jvm.new(f"{PLANS}.Project", output, filtered)

    def _is_live(self, position: Attribute, mask: Attribute) -> Expression:
        """The condition of live rows: the mask of the file ends before the row, or its bit is not set."""
        jvm = self.jvm
        # If the reader does not fill positions the query must fail, not return masked rows.
        known: Expression = jvm.new(f"{EXPRESSIONS}.objects.AssertNotNull", position, jvm.nil)
        index = self._int(jvm.new(f"{EXPRESSIONS}.ShiftRight", known, new_literal(jvm, 3)))
        bit = jvm.new(f"{EXPRESSIONS}.BitwiseAnd", self._int(known), new_literal(jvm, 7))
        byte = self._byte(mask, index)
        shifted: Expression = jvm.new(f"{EXPRESSIONS}.ShiftRight", byte, bit)
        tested = jvm.new(f"{EXPRESSIONS}.BitwiseAnd", shifted, new_literal(jvm, 1))
        clear = jvm.new(f"{EXPRESSIONS}.EqualTo", tested, new_literal(jvm, 0))
        past_end = jvm.new(f"{EXPRESSIONS}.GreaterThanOrEqual", index, jvm.new(f"{EXPRESSIONS}.OctetLength", mask))
        return jvm.new(f"{EXPRESSIONS}.Or", past_end, clear)

    def _byte(self, binary: Expression, index: Expression) -> Expression:
        """One byte of a binary value as an int."""
        jvm, objects = self.jvm, f"{EXPRESSIONS}.objects"
        buffer = jvm.java_class("java.nio.ByteBuffer")
        kind = jvm.new(f"{_TYPES}.ObjectType", buffer)
        flags = (jvm.nil, True, False, True)
        arguments = (buffer, kind, "wrap", jvm.seq([binary]), *flags, jvm.none)
        wrapped = jvm.new(f"{objects}.StaticInvoke", *arguments)
        byte_type = jvm.cls(f"{_TYPES}.DataTypes").ByteType
        return self._int(jvm.new(f"{objects}.Invoke", wrapped, "get", byte_type, jvm.seq([index]), *flags))

    def _int(self, expression: Expression) -> Expression:
        """A number cast to int without a check for overflow: no file has so many rows."""
        jvm = self.jvm
        legacy = jvm.singleton(f"{EXPRESSIONS}.EvalMode").LEGACY()
        return jvm.new(f"{EXPRESSIONS}.Cast", expression, jvm.cls(f"{_TYPES}.DataTypes").IntegerType, jvm.none, legacy)
