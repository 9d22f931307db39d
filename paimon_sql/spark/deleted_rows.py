"""Deletion vectors where Spark's own reader reads: a filter above the scan, by the position of each row in its file.

The reader gives each row its position, and each file the bits of its deleted rows as if they were a partition value; so
only the tasks that read a file get them. The filter looks at one bit of a row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from paimon_sql.format.deletion_vectors import DeletionVector
from paimon_sql.format.types import DataField
from paimon_sql.spark.java import CATALYST, EXECUTION, Jvm, behind
from paimon_sql.spark.native_scan import NativeScanProxy
from paimon_sql.spark.plan_rules import PlanRule, with_leaves
from paimon_sql.spark.python_scan import PythonScanProxy
from paimon_sql.spark.types import spark_struct
from paimon_sql.storage.scan.plan import PlannedRange, ScanPlan

_POSITION = {"name": "_tmp_metadata_row_index", "type": "long", "nullable": True, "metadata": {}}
"""The column that Spark's Parquet reader fills with the position of each row in its file."""
_DELETED = {"name": "__paimon_deleted_rows", "type": "binary", "nullable": True, "metadata": {}}
"""The bits of a file's deleted rows, null where none is deleted."""
_MOST_ROWS = 1 << 29
"""More rows than these in files with deletion vectors make bits that a driver should not hold: 64 MiB."""
_EXPRESSIONS = f"{CATALYST}.expressions"
_PLANS = f"{CATALYST}.plans.logical"
_SCAN = "DataSourceV2ScanRelation"
_ROW = f"{_EXPRESSIONS}.GenericInternalRow"
_TYPES = "org.apache.spark.sql.types"


class MarkingScanProxy(NativeScanProxy):
    """A Parquet scan that gives each row its position and the bits of its file's deleted rows, behind the columns."""

    def readSchema(self) -> Any:
        return self.jvm.struct(json.dumps(_struct([*spark_struct(self._fields)["fields"], _POSITION, _DELETED])))

    def _constant_columns(self) -> Any:
        return self.jvm.struct(json.dumps(_struct([_DELETED])))

    def _constants(self, file: PlannedRange) -> Any:
        if file.path not in self._rows:
            bits = None if file.deletion is None else bits_of(file.deletion.read(self._plan.table.file_io))
            value = None if bits is None else bytearray(bits)
            self._rows[file.path] = self.jvm.new(_ROW, self.jvm.array("java.lang.Object", [value]))
        return self._rows[file.path]

    @cached_property
    def _rows(self) -> dict[str, Any]:
        """What the rows of each file have in common, by its path."""
        return {}


def marks_deleted_rows(jvm: Jvm, plan: ScanPlan, columns: Sequence[DataField]) -> bool:
    """Whether Spark's reader can tell the position of each row, and the driver hold the bits of all deleted ones."""
    if plan.rows_with_vectors > _MOST_ROWS:
        return False
    settings = jvm.singleton("org.apache.spark.sql.internal.SQLConf").get()
    struct = jvm.struct(json.dumps(_struct([*spark_struct(columns)["fields"], _POSITION, _DELETED])))
    reader = jvm.singleton(f"{EXECUTION}.datasources.parquet.ParquetUtils")
    return bool(reader.isBatchReadSupportedForSchema(settings, struct))


def bits_of(vector: DeletionVector) -> bytes:
    """The deleted rows as bits: row 0 is the lowest bit of the first byte; they end with the last deleted row."""
    if not vector.cardinality:
        return b""
    flags = np.zeros(int(vector.positions[-1]) + 1, np.bool_)
    flags[vector.positions] = True
    return np.packbits(flags, bitorder="little").tobytes()


def _struct(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


class ReadDeletionsNatively(PlanRule):
    """Puts Spark's own reader and a filter in the place of a scan by Python workers that offers it.

    A session without the rule reads rightly all the same, only by Python workers.
    """

    def rewritten(self, plan: Any) -> Any:
        if not PythonScanProxy.with_native_twin:
            return plan
        instead: dict[int, Any] = {}
        for number, leaf in enumerate(self.jvm.items(plan.collectLeaves())):
            scan = behind(self.jvm, leaf.scan()) if leaf.getClass().getSimpleName() == _SCAN else None
            if isinstance(scan, PythonScanProxy) and scan.native_twin is not None:
                instead[number] = self._natively(leaf, scan.native_twin)
        return with_leaves(self.jvm, plan, instead) if instead else plan

    def _natively(self, relation: Any, native: Any) -> Any:
        jvm = self.jvm
        output = jvm.items(relation.output())
        position, deleted = self._attribute(_POSITION), self._attribute(_DELETED)
        parts = jvm.items(relation.productIterator().toSeq())
        parts[1:3] = [native, jvm.seq([*output, position, deleted])]
        wider = relation.makeCopy(jvm.array("java.lang.Object", parts))
        alive = jvm.new(f"{_PLANS}.Filter", self._alive(position, deleted), wider)
        return jvm.new(f"{_PLANS}.Project", jvm.seq(output), alive)

    def _attribute(self, field: dict[str, Any]) -> Any:
        jvm = self.jvm
        kind = jvm.static(f"{_TYPES}.DataType", "fromJson")(json.dumps(field["type"]))
        nothing = jvm.singleton(f"{_TYPES}.Metadata").empty()
        new_id = jvm.singleton(f"{_EXPRESSIONS}.NamedExpression").newExprId()
        return jvm.new(f"{_EXPRESSIONS}.AttributeReference", field["name"], kind, True, nothing, new_id, jvm.seq([]))

    def _alive(self, position: Any, deleted: Any) -> Any:
        """Whether a row is alive: its file has no deleted rows, or they end before it, or its bit is not set."""
        jvm = self.jvm
        # A reader that does not fill positions must not pass for one whose rows are all alive.
        known = jvm.new(f"{_EXPRESSIONS}.objects.AssertNotNull", position, jvm.seq([]))
        index = self._int(jvm.new(f"{_EXPRESSIONS}.ShiftRight", known, self._literal(3)))
        bit = self._int(jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", known, self._long(self._literal(7))))
        byte = self._byte(deleted, index)
        shifted = jvm.new(f"{_EXPRESSIONS}.ShiftRight", byte, bit)
        clear = self._equal(jvm.new(f"{_EXPRESSIONS}.BitwiseAnd", shifted, self._literal(1)), self._literal(0))
        none = jvm.new(f"{_EXPRESSIONS}.IsNull", deleted)
        behind = jvm.new(f"{_EXPRESSIONS}.GreaterThanOrEqual", index, jvm.new(f"{_EXPRESSIONS}.OctetLength", deleted))
        either = f"{_EXPRESSIONS}.Or"
        return jvm.new(either, none, jvm.new(either, behind, clear))

    def _byte(self, of: Any, index: Any) -> Any:
        """One byte of a binary value as an int."""
        jvm, objects = self.jvm, f"{_EXPRESSIONS}.objects"
        loader = jvm.cls("java.lang.Thread").currentThread().getContextClassLoader()
        buffer = jvm.cls("java.lang.Class").forName("java.nio.ByteBuffer", True, loader)
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
