"""Tables made and read with the storage core alone, for tests of scans, merges, writers, commits and compactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.compact.compaction import EVERYTHING
from paimon_sql.storage.compact.layouts.primary_key import plan_compaction, plan_triggered
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits

COLUMNS = (DataField(0, "id", IntType()), DataField(1, "v", string_type()), DataField(2, "p", string_type()))
Row = tuple[Any, ...]


def make_table(
    path: Path,
    options: Mapping[str, str] | None = None,
    *,
    columns: Sequence[DataField] = COLUMNS,
    keys: Sequence[str] = (),
    partitions: Sequence[str] = (),
) -> Table:
    """An empty table; a keyed one has a single bucket unless the options say otherwise."""
    fields = [replace(f, type=f.type.as_nullable(False)) if f.name in keys else f for f in columns]
    given = {**({"bucket": "1"} if keys else {}), **(options or {})}
    schema = new_schema(fields, options=given, primary_keys=keys, partition_keys=partitions)
    table = Table("db.t", str(path), LocalFileIO(), schema)
    assert table.schemas.try_add(schema)
    return table


def again(table: Table, options: Mapping[str, str] | None = None, file_io: FileIO | None = None) -> Table:
    """The table as another statement opens it, which remembers nothing."""
    schema = replace(table.schema, options={**table.schema.options, **(options or {})})
    return Table(
        table.name,
        table.path,
        file_io or table.file_io,
        schema,
        table.branch,
        lock=table.lock,
        partition_registry=table.partition_registry,
        version_management=table.version_management,
        access=table.access,
    )


def batch_of(table: Table, rows: Iterable[Row], kinds: Sequence[int] | None = None) -> pa.RecordBatch:
    """Rows as the table's columns, their kinds behind them if given."""
    schema = arrow_schema(table.schema.fields)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    if kinds is not None:
        schema, arrays = schema.append(arrow_field(VALUE_KIND)), [*arrays, pa.array(kinds, pa.int8())]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def written(table: Table, *rows: Row, kinds: Sequence[int] | None = None) -> list[CommitMessage]:
    """Rows in files that nobody sees yet."""
    return plan_write(table).run([batch_of(table, rows, kinds)])


def insert(table: Table, *rows: Row) -> Snapshot:
    """Append rows."""
    return commits.append(again(table), written(again(table), *rows))[-1]


def remove(table: Table, *rows: Row) -> Snapshot:
    """Write deletes of these rows."""
    return commits.append(again(table), written(again(table), *rows, kinds=[RowKind.DELETE] * len(rows)))[-1]


def overwrite(table: Table, *rows: Row, partitions: Predicate | None = None, dynamic: bool = False) -> Snapshot | None:
    """Replace all rows, those of some partitions, or those of the partitions that occur."""
    table, what = again(table), Overwrite(partitions, dynamic)
    messages = plan_write(table, what).run([batch_of(table, rows)])
    return commits.overwrite(table, messages, lambda latest: overwritten(table, latest, what, messages))


def compacted(table: Table, *, full: bool = True) -> list[CommitMessage]:
    """The messages of a compaction that is not committed yet."""
    return [task.run() for task in plan_compaction(again(table), table.snapshots.latest(), full=full, scope=EVERYTHING)]


def compact(table: Table, *, full: bool = True) -> Snapshot | None:
    """Compact a keyed table."""
    return commits.compact(again(table), compacted(table, full=full))


def triggered(table: Table, messages: Sequence[CommitMessage]) -> list[CommitMessage]:
    """The compactions that these messages make due."""
    return [task.run() for task in plan_triggered(again(table), table.snapshots.latest(), messages)]


def plan(table: Table, predicate: Predicate | None = None) -> ScanPlan:
    """The plan of a read of the newest snapshot."""
    return plan_scan(again(table), predicate)


def rows(table: Table, predicate: Predicate | None = None, columns: Sequence[str] | None = None) -> list[Row]:
    """What a read finds, in no particular order."""
    names = tuple(columns or table.schema.names)
    found: list[Row] = []
    for split in plan(table, predicate).splits:
        for batch in ReadTask(again(table), split, names, predicate).batches():
            assert batch.schema.names == list(names)
            found.extend(zip(*(c.to_pylist() for c in batch.columns), strict=True))
    return found


def live(table: Table) -> list[ManifestEntry]:
    """The data files of the newest snapshot."""
    table = again(table)
    return entries(live_files(table, table.snapshots.latest()).entries)


def files_below(table: Table, *, hidden: bool = False) -> set[str]:
    """The paths below the table's folder, without hidden files unless asked for."""
    root = Path(table.path)
    found = {p for p in root.rglob("*") if p.is_file() and (hidden or not p.name.startswith("."))}
    return {str(p.relative_to(root)) for p in found}


def data_files(table: Table) -> set[str]:
    """The names of all data files on disk, seen or not."""
    return {Path(p).name for p in files_below(table) if "bucket-" in p}
