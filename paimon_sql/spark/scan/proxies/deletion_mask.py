"""Masked scans: Spark's own reader with a deletion mask, for rows that are deleted or overwritten by newer ones.

The reader adds the position of each row. It takes the bits of a file's masked rows as if they were a partition value,
so that only the tasks that read the file get them. A filter tests one bit per row (`deleted_row_filter`).
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
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.read.deletion_mask import DeletionMaskCache, MaskedSplit, mask_of, selects
from paimon_sql.storage.scan.plan import PlannedRange, ScanPlan

POSITION: dict[str, Any] = {"name": "_tmp_metadata_row_index", "type": "long", "nullable": True, "metadata": {}}
"""The column that Spark's Parquet reader fills with the position of each row in its file."""
MASK: dict[str, Any] = {"name": "__paimon_dead_rows", "type": "binary", "nullable": False, "metadata": {}}
"""The bits of a file's masked rows; rows after the last bit are live."""
_MAX_ROWS = 1 << 29
"""Maximum rows in files with masked rows: their bits take 64 MiB on the driver."""
_FEW_BYTES = 64 * 1024 * 1024
"""Maximum bytes of files that the driver merges itself, which is then faster than a job."""
_THREADS = os.cpu_count() or 2
_MERGED_BITS = DeletionMaskCache(64 * 1024 * 1024)
_ROW = f"{CATALYST}.expressions.GenericInternalRow"


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
        cached = [_MERGED_BITS.get(merging) for merging in self._merging]
        new = [merging for merging, bits in zip(self._merging, cached, strict=True) if bits is None]
        is_small = sum(merging.size for merging in new) <= _FEW_BYTES
        executor = LocalExecutor(_THREADS) if is_small else SparkExecutor(self._jvm)
        found = executor.map(MaskedSplit.masks, new)
        merged: dict[str, bytes] = {}
        for merging, bits in zip(self._merging, cached, strict=True):
            if bits is None:
                bits = next(found)
                _MERGED_BITS.put(merging, bits)
            split, locations = merging.split, merging.table.locations
            merged |= {locations.data_file(split.partition, split.bucket, f): bits[f.file_name] for f in split.files}
        return merged


class MaskedScanProxy(NativeScanProxy):
    """A Parquet scan with two columns at the end: the row's position, and the bits of its file's masked rows.

    Args:
        predicate: see `DeletionMask`.
        structs: see `NativeScanProxy`.
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
        self._mask = DeletionMask(jvm, plan, predicate)

    def over(self, plan: ScanPlan) -> MaskedScanProxy:
        arguments = (self.jvm, self._session, self.columns, self._filters, self._what, plan)
        return MaskedScanProxy(*arguments, self._predicate, self._structs)

    def readSchema(self) -> Any:
        return self.jvm.struct(_with_mask_columns(self.columns, self._structs))

    def _constant_columns(self) -> Any:
        return self.jvm.struct(json.dumps(_struct([MASK])))

    def _constants(self, file: PlannedRange) -> Any:
        if file.path not in self._rows:
            value = bytearray(self._mask.bits.get(file.path, b""))
            self._rows[file.path] = self.jvm.new(_ROW, self.jvm.array("java.lang.Object", [value]))
        return self._rows[file.path]

    @cached_property
    def _rows(self) -> dict[str, Any]:
        """The constant values of each file's rows, by path."""
        return {}


def can_mask(jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField]) -> bool:
    """Whether a plan has a deletion mask that Spark's reader can apply: it adds positions when it reads in batches."""
    return has_deletion_mask(plan) and reads_in_batches(jvm, jvm.struct(_with_mask_columns(fields)))


def has_deletion_mask(plan: ScanPlan) -> bool:
    """Whether the rows of a plan are those of its files without masked ones, whose bits fit on the driver."""
    return plan.rows_to_mask <= _MAX_ROWS and all(s.raw or selects(s.table or plan.table, s) for s in plan.splits)


def _with_mask_columns(fields: Sequence[DataField], structs: Structs | None = None) -> str:
    columns = with_structs(spark_struct(fields), structs or {})["fields"]
    return json.dumps(_struct([*columns, POSITION, MASK]))


def _struct(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}
