"""Small tables made with the storage core alone, and what is reachable from their metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import FileKind, entries, merge_entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.compact.compaction import EVERYTHING
from paimon_sql.storage.compact.layouts.primary_key import plan_compaction
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.retention.retained_references import other_branches
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits

COLUMNS = (
    DataField(0, "id", IntType(False)),
    DataField(1, "v", string_type()),
    DataField(2, "p", string_type()),
)
Row = tuple[Any, ...]


def make_table(
    path: Path,
    options: dict[str, str] | None = None,
    *,
    primary_keys: Sequence[str] = (),
    partition_keys: Sequence[str] = (),
    file_io: FileIO | None = None,
) -> Table:
    """An empty table with the columns id, v and p, which does nothing by itself after a commit."""
    schema = new_schema(
        COLUMNS,
        options={"write-only": "true", **({"bucket": "1"} if primary_keys else {}), **(options or {})},
        primary_keys=primary_keys,
        partition_keys=partition_keys,
    )
    table = Table("t", str(path), file_io or LocalFileIO(), schema)
    assert table.schemas.try_add(schema)
    return table


def fresh(table: Table, **options: str) -> Table:
    """The table opened anew, with options put over its own."""
    return replace(table).with_options({k.replace("_", "-"): v for k, v in options.items()} or {"x": "x"})


def batch_of(table: Table, rows: Iterable[Row]) -> pa.RecordBatch:
    schema = arrow_schema(table.schema.fields)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )


def insert(table: Table, *rows: Row, changelog: bool = False) -> Snapshot:
    """Append rows; with ``changelog`` the commit has a changelog file that holds them too."""
    messages = plan_write(table).run([batch_of(table, rows)])
    if changelog:
        copies = plan_write(table).run([batch_of(table, rows)])
        messages = [replace(m, changelog_files=c.new_files) for m, c in zip(messages, copies, strict=True)]
    return commits.append(table, messages)[-1]


def overwrite(table: Table, *rows: Row, dynamic: bool = False) -> Snapshot:
    """Replace all rows, or with ``dynamic`` those of the partitions that occur."""
    messages = plan_write(table, Overwrite()).run([batch_of(table, rows)])
    made = commits.overwrite(
        table, messages, lambda latest: overwritten(table, latest, Overwrite(dynamic=dynamic), messages)
    )
    assert made is not None
    return made


def compact(table: Table) -> Snapshot | None:
    """Compact a keyed table fully."""
    return commits.compact(
        table, [task.run() for task in plan_compaction(table, table.snapshots.latest(), full=True, scope=EVERYTHING)]
    )


def rows_at(table: Table, snapshot: Snapshot, predicate: Predicate | None = None) -> list[Row]:
    """The rows of a snapshot that a condition is true for, sorted."""
    names = table.schema.names
    found: list[Row] = []
    for split in plan_scan(table, predicate, snapshot=snapshot).splits:
        for batch in ReadTask(table, split, names, predicate).batches():
            found.extend(zip(*(batch.column(n).to_pylist() for n in names), strict=True))
    return sorted(found)


def add_branch(table: Table, name: str, tag: str) -> Table:
    """A branch that starts at a tag, made of copied files as the format says."""
    branch = replace(table, branch=name)
    kept = table.tags.get(tag)
    for schema in table.schemas.all():
        assert branch.schemas.try_add(schema)
    branch.tags.create(tag, kept.snapshot)
    snapshot = branch.snapshots.directory.path(kept.snapshot.id)
    table.file_io.write_bytes(snapshot, kept.snapshot.to_json().encode())
    return branch


def amend_latest(table: Table, **members: Any) -> None:
    """Put members into the newest snapshot's file."""
    latest = table.snapshots.latest_id()
    assert latest is not None
    path = Path(table.snapshots.directory.path(latest))
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def on_disk(table: Table) -> set[str]:
    """All files of the table but schemas, hints, tags, consumers, snapshots, changelogs and marks of rollbacks."""
    root = Path(table.path)
    files = {p for p in root.rglob("*") if p.is_file()}
    apart = {"schema", "snapshot", "tag", "consumer", "changelog"}
    return {str(p) for p in files if p.parent.name not in apart and p.name != "REWIND"}


def reachable(table: Table) -> set[str]:
    """The paths of all files that snapshots, tags and changelogs of any branch lead to."""
    found: set[str] = set()
    for branch in (replace(table, branch=MAIN_BRANCH), *other_branches(replace(table, branch=MAIN_BRANCH))):
        earliest = branch.snapshots.earliest_id() or 0
        for snapshot in branch.snapshots.all():
            if snapshot.id >= earliest:
                found |= files_of(branch, snapshot, with_changelog=True)
        for tag in branch.tags.all():
            found |= files_of(branch, tag.snapshot, with_changelog=False)
        for changelog in branch.changelogs.all():
            found |= changelog_files(branch, changelog)
    return found


def files_of(table: Table, snapshot: Snapshot, *, with_changelog: bool) -> set[str]:
    manifests = table.manifests
    metas = manifests_of(table, snapshot)
    names = {snapshot.base_manifest_list, snapshot.delta_manifest_list, *(m.file_name for m in metas)}
    found = set()
    if metas:
        live = merge_entries([manifests.read(m.file_name) for m in metas])
        for e in entries(live):
            found.update(table.locations.files_of(e.partition, e.bucket, e.file))
    if with_changelog and snapshot.changelog_manifest_list:
        found |= changelog_files(table, snapshot)
    if snapshot.index_manifest:
        names.add(snapshot.index_manifest)
        found |= {index_path(table, e) for e in index_entries(table, snapshot)}
    if snapshot.statistics:
        found.add(table.paths.statistics(snapshot.statistics))
    return found | {table.paths.manifest(n) for n in names}


def changelog_files(table: Table, changelog: Snapshot) -> set[str]:
    own = changelog.changelog_manifest_list
    if not own and table.schema.options.get("changelog-producer", "none") != "none":
        return set()  # a commit without changes in the changelog
    lists = [own] if own else [changelog.base_manifest_list, changelog.delta_manifest_list]
    found = {table.paths.manifest(n) for n in lists}
    for name in lists:
        for meta in table.manifests.read_list(name):
            found.add(table.paths.manifest(meta.file_name))
            if name != changelog.base_manifest_list:
                for e in entries(table.manifests.read(meta.file_name)):
                    if e.kind == FileKind.ADD and (own or e.file.file_source != FileSource.COMPACT):
                        found.update(table.locations.files_of(e.partition, e.bucket, e.file))
    return found
