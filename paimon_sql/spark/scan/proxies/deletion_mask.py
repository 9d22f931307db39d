"""Scans by Spark's own reader that tell of each row whether it is dead.

The reader gives each row its position, and each file the bits of its dead rows as if they were a partition value; so
only the tasks that read a file get them. A filter looks at one bit of a row (`dead_row_filters`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.scan.proxies.native import NativeScanProxy, reads_in_batches
from paimon_sql.spark.scan.pushdown.variants import Structs, with_structs
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.expressions.predicates import Predicate, about
from paimon_sql.storage.read.deletion_mask import BitsCache, Merging, bits_of, selects
from paimon_sql.storage.scan.plan import PlannedRange, ScanPlan

POSITION: dict[str, Any] = {"name": "_tmp_metadata_row_index", "type": "long", "nullable": True, "metadata": {}}
"""The column that Spark's Parquet reader fills with the position of each row in its file."""
DEAD: dict[str, Any] = {"name": "__paimon_dead_rows", "type": "binary", "nullable": False, "metadata": {}}
"""The bits of a file's dead rows; rows behind them are alive."""
_MOST_ROWS = 1 << 29
"""More rows than these in files with dead rows make bits that a driver should not hold: 64 MiB."""
_FEW_BYTES = 64 * 1024 * 1024
"""Up to so many bytes the driver finds dead rows itself sooner than workers are called."""
_THREADS = os.cpu_count() or 2
_MERGED = BitsCache(64 * 1024 * 1024)
_ROW = f"{CATALYST}.expressions.GenericInternalRow"


class DeletionMask:
    """Which rows of a plan's files are dead.

    Args:
        jvm: the JVM.
        plan: the plan; all its splits are raw, or merged in a way that makes no new rows.
        predicate: what is wanted; keys that it leaves out need not be merged, and their rows count as dead.
    """

    def __init__(self, jvm: Jvm, plan: ScanPlan, predicate: Predicate | None) -> None:
        self._jvm = jvm
        self._plan = plan
        on_key = about(predicate, plan.table.schema.trimmed_primary_keys)
        self._merging = [Merging(s.table or plan.table, s, on_key) for s in plan.splits if not s.raw]

    @cached_property
    def bits(self) -> dict[str, bytes]:
        """The bits of the files with dead rows, by their paths."""
        return self._deleted() | self._merged()

    @property
    def alive(self) -> int:
        """How many rows of the files are not dead."""
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
        bits = spread(lambda deletion: bits_of(deletion.read(io)), list(found.values()), _THREADS)
        return dict(zip(found, bits, strict=True))

    def _merged(self) -> dict[str, bytes]:
        """The bits of the files that are merged."""
        held = [_MERGED.get(merging) for merging in self._merging]
        new = [merging for merging, bits in zip(self._merging, held, strict=True) if bits is None]
        few = sum(merging.size for merging in new) <= _FEW_BYTES
        executor = LocalExecutor(_THREADS) if few else SparkExecutor(self._jvm)
        found = executor.map(Merging.dead, new)
        merged: dict[str, bytes] = {}
        for merging, bits in zip(self._merging, held, strict=True):
            if bits is None:
                bits = next(found)
                _MERGED.put(merging, bits)
            split, places = merging.split, merging.table.locations
            merged |= {places.data_file(split.partition, split.bucket, f): bits[f.file_name] for f in split.files}
        return merged


class MaskedScanProxy(NativeScanProxy):
    """A Parquet scan that gives each row its position and the bits of its file's dead rows, behind the columns.

    Args:
        predicate: as of `DeletionMask`.
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
        self._dead = DeletionMask(jvm, plan, predicate)

    def over(self, plan: ScanPlan) -> MaskedScanProxy:
        given = (self.jvm, self._session, self.columns, self._filters, self._what, plan)
        return MaskedScanProxy(*given, self._predicate, self._structs)

    def readSchema(self) -> Any:
        return self.jvm.struct(_wider(self.columns, self._structs))

    def _constant_columns(self) -> Any:
        return self.jvm.struct(json.dumps(_struct([DEAD])))

    def _constants(self, file: PlannedRange) -> Any:
        if file.path not in self._rows:
            value = bytearray(self._dead.bits.get(file.path, b""))
            self._rows[file.path] = self.jvm.new(_ROW, self.jvm.array("java.lang.Object", [value]))
        return self._rows[file.path]

    @cached_property
    def _rows(self) -> dict[str, Any]:
        """What the rows of each file have in common, by its path."""
        return {}


def can_mark(jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField]) -> bool:
    """Whether Spark's reader can be told which rows of a plan are dead, and tells their positions itself."""
    return has_deletion_mask(plan) and reads_in_batches(jvm, jvm.struct(_wider(fields)))


def has_deletion_mask(plan: ScanPlan) -> bool:
    """Whether all rows of a plan are those of its files, but for dead ones that a driver can hold the bits of."""
    return plan.rows_to_mark <= _MOST_ROWS and all(s.raw or selects(s.table or plan.table, s) for s in plan.splits)


def _wider(fields: Sequence[DataField], structs: Structs | None = None) -> str:
    columns = with_structs(spark_struct(fields), structs or {})["fields"]
    return json.dumps(_struct([*columns, POSITION, DEAD]))


def _struct(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}
