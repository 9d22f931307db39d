"""A program that loads, compacts and reads a table much bigger than its memory, and tells what it took.

Run with a folder, a scenario's name and the budget in bytes; prints one JSON object: the size of the rows in memory,
and by phase the peak above what the process took when everything was imported and had run once.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.types import BigIntType, DataField, IntType, TimestampType, string_type
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage import core_tables as core

TIMES = 5
"""How many times bigger than the budget the table is."""
COLUMNS = (
    DataField(0, "id", BigIntType()),
    DataField(1, "part", IntType()),
    DataField(2, "at", TimestampType()),
    DataField(3, "text", string_type()),
)
_BATCH = 2_000
_WIDTH, _ROW = 1480, 1500
_PARTITIONS = 200
LIBC = ctypes.CDLL(None)
NOISE = np.random.default_rng(1).integers(33, 126, 8 * _BATCH * _WIDTH, dtype=np.uint8)


def batch(first: int, ids: np.ndarray, partitions: int) -> pa.RecordBatch:
    """Rows with these ids, whose texts do not compress well."""
    start = first * 7919 % (len(NOISE) - _BATCH * _WIDTH)
    noise = NOISE[start : start + len(ids) * _WIDTH]
    texts = pa.Array.from_buffers(
        pa.string(),
        len(ids),
        [None, pa.py_buffer((np.arange(len(ids) + 1) * _WIDTH).astype(np.int32)), pa.py_buffer(noise)],
    )
    times = pa.array(ids * 1000, pa.timestamp("ms"))
    return pa.RecordBatch.from_arrays(
        [pa.array(ids), pa.array((ids % partitions).astype(np.int32)), times, texts], names=[f.name for f in COLUMNS]
    )


def batches(rows: int, partitions: int) -> Iterator[pa.RecordBatch]:
    """Unsorted rows with the ids from 0 on, made as they are asked for; they take about ``_ROW`` bytes each."""
    stride = 1_000_003
    assert rows % stride
    for first in range(0, rows, _BATCH):
        ids = (np.arange(first, min(first + _BATCH, rows)) * stride) % rows
        yield batch(first, ids, partitions)


def resident(member: str) -> int:
    """A figure of this process's memory in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(member):
            return int(line.split()[1]) * 1024
    raise AssertionError(member)


def peak_of(action: Callable[[], object], floor: int) -> int:
    """The most memory that an action takes, above the floor."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)  # what one action has given back must not count for the next
    Path("/proc/self/clear_refs").write_text("5")
    action()
    return resident("VmHWM") - floor


def phases(folder: Path, scenario: str, budget: int) -> dict[str, Callable[[], object]]:
    """What is done, in its order."""
    rows = TIMES * budget // _ROW
    keyed = scenario != "append"
    options = {
        "file.format": "parquet" if scenario == "append" else scenario,
        "write-only": "true",
        "write-buffer-size": "8 mb",
        "sort-spill-buffer-size": "4 mb",
        "sort-spill-threshold": "5",
        "file.block-size": "4 mb",
    }
    if keyed:
        table = core.make_table(folder / "t", {**options, "bucket": "3"}, columns=COLUMNS, keys=("id",))
    else:
        table = core.make_table(folder / "t", options, columns=COLUMNS, partitions=("part",))

    def load() -> None:
        messages = plan_write(table).run(batches(rows, _PARTITIONS))
        commits.append(table, messages)

    def compact() -> None:
        commits.compact(core.again(table), plan_table(core.again(table), full=True).run(LocalExecutor(1)))

    def read() -> None:
        assert count(table) == rows

    return {"load": load, "read": read, "compact": compact, "read again": read}


def count(table: Table) -> int:
    """The rows that a read finds, none of them kept."""
    table = core.again(table)
    names = tuple(table.schema.names)
    found = 0
    for split in plan_scan(table).splits:
        found += sum(b.num_rows for b in ReadTask(table, split, names).batches())
    return found


def main(folder: Path, scenario: str, budget: int) -> None:
    for warm in phases(folder / "warm", scenario, 100_000).values():
        warm()
    floor = resident("VmRSS")
    taken = {name: peak_of(action, floor) for name, action in phases(folder, scenario, budget).items()}
    size = sum(b.nbytes for b in batches(TIMES * budget // _ROW, _PARTITIONS))
    print(json.dumps({"size": size, **taken}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
