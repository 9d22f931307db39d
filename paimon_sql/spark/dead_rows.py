"""Dead rows where Spark's own reader reads: a filter above the scan, by the position of each row in its file.

The reader gives each row its position, and each file the bits of its dead rows as if they were a partition value; so
only the tasks that read a file get them. The filter looks at one bit of a row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from paimon_sql.format.types import DataField
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.java import CATALYST, Jvm
from paimon_sql.spark.native_scan import NativeScanProxy, reads_in_batches
from paimon_sql.spark.plan_rules import PlanRule, new_attribute, with_parts, with_scans
from paimon_sql.spark.planned_scan import PlannedScanProxy
from paimon_sql.spark.types import spark_struct
from paimon_sql.spark.variant_extractions import Structs, with_structs
from paimon_sql.storage.executor import LocalExecutor
from paimon_sql.storage.predicates import Predicate, about
from paimon_sql.storage.read.dead_rows import BitsCache, Merging, bits_of, selects
from paimon_sql.storage.scan.plan import PlannedRange, ScanPlan
from paimon_sql.storage.threads import spread

_POSITION: dict[str, Any] = {"name": "_tmp_metadata_row_index", "type": "long", "nullable": True, "metadata": {}}
"""The column that Spark's Parquet reader fills with the position of each row in its file."""
_DEAD: dict[str, Any] = {"name": "__paimon_dead_rows", "type": "binary", "nullable": True, "metadata": {}}
"""The bits of a file's dead rows, null where all are alive."""
_MOST_ROWS = 1 << 29
"""More rows than these in files with dead rows make bits that a driver should not hold: 64 MiB."""
_FEW_BYTES = 64 * 1024 * 1024
"""Up to so many bytes the driver finds dead rows itself sooner than workers are called."""
_THREADS = os.cpu_count() or 2
_MERGED = BitsCache(64 * 1024 * 1024)
_EXPRESSIONS = f"{CATALYST}.expressions"
_PLANS = f"{CATALYST}.plans.logical"
_ROW = f"{_EXPRESSIONS}.GenericInternalRow"
_TYPES = "org.apache.spark.sql.types"


class MarkingScanProxy(NativeScanProxy):
    """A Parquet scan that gives each row its position and the bits of its file's dead rows, behind the columns.

    Args:
        predicate: what is wanted; keys that it leaves out need not be merged.
        structs: as of `NativeScanProxy`.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: Any,
        fields: Sequence[DataField],
        filters: Any,
        what: str,
        plan: ScanPlan,
        predicate: Predicate | None,
        structs: Structs | None = None,
    ) -> None:
        super().__init__(jvm, session, fields, filters, what, plan, structs)
        self._predicate = predicate
        on_key = about(predicate, plan.table.schema.trimmed_primary_keys)
        self._merging = [Merging(s.table or plan.table, s, on_key) for s in plan.splits if not s.raw]

    def over(self, plan: ScanPlan) -> MarkingScanProxy:
        given = (self.jvm, self._session, self.columns, self._filters, self._what, plan)
        return MarkingScanProxy(*given, self._predicate, self._structs)

    def readSchema(self) -> Any:
        return self.jvm.struct(_wider(self.columns, self._structs))

    def _constant_columns(self) -> Any:
        return self.jvm.struct(json.dumps(_struct([_DEAD])))

    def _constants(self, file: PlannedRange) -> Any:
        if file.path not in self._rows:
            bits = self._bits.get(file.path)
            value = bytearray(bits) if bits else None
            self._rows[file.path] = self.jvm.new(_ROW, self.jvm.array("java.lang.Object", [value]))
        return self._rows[file.path]

    @cached_property
    def _rows(self) -> dict[str, Any]:
        """What the rows of each file have in common, by its path."""
        return {}

    @cached_property
    def _bits(self) -> dict[str, bytes]:
        """The bits of the files with dead rows, by their paths."""
        return self._deleted() | self._merged()

    def _deleted(self) -> dict[str, bytes]:
        """The bits of the files that have a deletion vector and are not merged."""
        plan, found = self.plan, {}
        for split in filter(lambda s: s.raw, plan.splits):
            for f in split.files:
                if f.file_name in split.deletions:
                    path = plan.owner(split).locations.data_file(split.partition, split.bucket, f)
                    found[path] = split.deletions[f.file_name]
        io = plan.table.file_io
        bits = spread(lambda deletion: bits_of(deletion.read(io)), list(found.values()), _THREADS)
        return dict(zip(found, bits, strict=True))

    def _merged(self) -> dict[str, bytes]:
        """The bits of the files that are merged."""
        held = [_MERGED.get(merging) for merging in self._merging]
        new = [merging for merging, bits in zip(self._merging, held, strict=True) if bits is None]
        few = sum(merging.size for merging in new) <= _FEW_BYTES
        executor = LocalExecutor(_THREADS) if few else SparkExecutor(self.jvm)
        found = executor.map(Merging.dead, new)
        merged: dict[str, bytes] = {}
        for merging, bits in zip(self._merging, held, strict=True):
            if bits is None:
                bits = next(found)
                _MERGED.put(merging, bits)
            split, places = merging.split, merging.table.locations
            merged |= {places.data_file(split.partition, split.bucket, f): bits[f.file_name] for f in split.files}
        return merged


def marking_scan(
    jvm: Jvm,
    session: Any,
    fields: Sequence[DataField],
    filters: Any,
    what: str,
    plan: ScanPlan,
    predicate: Predicate | None,
    structs: Structs | None = None,
) -> MarkingScanProxy | None:
    """A scan by Spark's own reader that tells of each row whether it is dead; None if that cannot be.

    It cannot where Spark's reader tells no positions, where merging makes new rows, or where the driver would hold the
    bits of too many rows.
    """
    if not can_mark(jvm, plan, fields):
        return None
    return MarkingScanProxy(jvm, session, fields, filters, what, plan, predicate, structs)


def can_mark(jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField]) -> bool:
    """Whether Spark's reader can be told which rows of a plan are dead, and tells their positions itself."""
    if plan.rows_to_mark > _MOST_ROWS or not all(s.raw or selects(s.table or plan.table, s) for s in plan.splits):
        return False
    return reads_in_batches(jvm, jvm.struct(_wider(fields)))


def _wider(fields: Sequence[DataField], structs: Structs | None = None) -> str:
    columns = with_structs(spark_struct(fields), structs or {})["fields"]
    return json.dumps(_struct([*columns, _POSITION, _DEAD]))


def _struct(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


class PassOverDeadRows(PlanRule):
    """Puts Spark's own reader and a filter in the place of a scan by Python workers that offers it.

    A session without the rule reads rightly all the same, only by Python workers.
    """

    reads_scans = True

    def rewritten(self, plan: Any) -> Any:
        return with_scans(self.jvm, plan, self._natively) if PlannedScanProxy.with_native_twin else plan

    def _natively(self, relation: Any, scan: Any) -> Any | None:
        if not isinstance(scan, PlannedScanProxy) or scan.native_twin is None:
            return None
        jvm = self.jvm
        output = relation.output()
        # They are seen nowhere above, so that all scans may have the same.
        position, dead, is_alive = jvm.constant("parts of a filter for dead rows", self._filter_parts)
        wider = with_parts(jvm, relation, scan=scan.native_twin, output=output.appended(position).appended(dead))
        alive = jvm.new(f"{_PLANS}.Filter", is_alive, wider)
        return jvm.new(f"{_PLANS}.Project", output, alive)

    def _filter_parts(self) -> tuple[Any, Any, Any]:
        position, dead = (new_attribute(self.jvm, f["name"], f["type"]) for f in (_POSITION, _DEAD))
        return position, dead, self._alive(position, dead)

    def _alive(self, position: Any, dead: Any) -> Any:
        """Whether a row is alive: its file has no dead rows, or they end before it, or its bit is not set."""
        jvm = self.jvm
        # A reader that does not fill positions must not pass for one whose rows are all alive.
        known = jvm.new(f"{_EXPRESSIONS}.objects.AssertNotNull", position, jvm.seq([]))
        index = self._int(jvm.new(f"{_EXPRESSIONS}.ShiftRight", known, self._literal(3)))
        bit = self._int(jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", known, self._long(self._literal(7))))
        byte = self._byte(dead, index)
        shifted = jvm.new(f"{_EXPRESSIONS}.ShiftRight", byte, bit)
        clear = self._equal(jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", shifted, self._literal(1)), self._literal(0))
        none = jvm.new(f"{_EXPRESSIONS}.IsNull", dead)
        past_end = jvm.new(f"{_EXPRESSIONS}.GreaterThanOrEqual", index, jvm.new(f"{_EXPRESSIONS}.OctetLength", dead))
        either = f"{_EXPRESSIONS}.Or"
        return jvm.new(either, none, jvm.new(either, past_end, clear))

    def _byte(self, of: Any, index: Any) -> Any:
        """One byte of a binary value as an int."""
        jvm, objects = self.jvm, f"{_EXPRESSIONS}.objects"
        buffer = jvm.java_class("java.nio.ByteBuffer")
        kind = jvm.new(f"{_TYPES}.ObjectType", buffer)
        nothing = jvm.seq([])
        wrapped = jvm.new(
            f"{objects}.StaticInvoke", buffer, kind, "wrap", jvm.seq([of]), nothing, True, False, True, jvm.none
        )
        byte_type = jvm.cls(f"{_TYPES}.DataTypes").ByteType
        return self._int(
            jvm.new(f"{objects}.Invoke", wrapped, "get", byte_type, jvm.seq([index]), nothing, True, False, True)
        )

    def _equal(self, left: Any, right: Any) -> Any:
        return self.jvm.new(f"{_EXPRESSIONS}.EqualTo", left, right)

    def _literal(self, value: int) -> Any:
        return self.jvm.singleton(f"{_EXPRESSIONS}.Literal").apply(value)

    def _int(self, expression: Any) -> Any:
        return self._cast(expression, "IntegerType")

    def _long(self, expression: Any) -> Any:
        return self._cast(expression, "LongType")

    def _cast(self, expression: Any, kind: str) -> Any:
        jvm = self.jvm
        return jvm.new(f"{_EXPRESSIONS}.Cast", expression, getattr(jvm.cls(f"{_TYPES}.DataTypes"), kind), jvm.none)
