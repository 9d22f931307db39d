"""Manifests rewritten on demand: the same files, fewer entries, in the order of a partition column if wanted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.commit.snapshot.manifests import ranges
from paimon_sql.storage.commit.snapshot.snapshot_commit import Created, RenamingSnapshotCommit
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor, ManifestPlan
from paimon_sql.storage.table.table import Table
from tests.storage import core_tables as core

SORTED = {"manifest-sort.enabled": "true"}


def compact(table: Table, options: dict[str, str] | None = None, *, dry_run: bool = False) -> ManifestPlan:
    compactor = ManifestCompactor(core.again(table, options))
    compactor.run(dry_run=dry_run)
    return compactor.plan


def manifests(table: Table) -> list[ManifestFileMeta]:
    table = core.again(table)
    latest = table.snapshots.latest()
    assert latest is not None
    return manifests_of(table, latest)


def partitions_of(table: Table) -> list[list[str]]:
    """The partitions that the files of each manifest are of, in their order."""
    found = []
    for meta in manifests(table):
        entries = table.manifests.read(meta.file_name)
        found.append([table.locations.partition(p) for p in entries["partition"].to_pylist()])
    return found


def test_entries_of_deleted_files_vanish(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t")
    for i in range(4):
        core.overwrite(table, (i, "v", None))
    before = core.rows(table)
    looked = compact(table, dry_run=True)
    assert core.again(table).snapshots.latest_id() == 4
    done = compact(table)
    assert (len(done.before), len(done.rewritten), done.dropped_entries, len(done.parts)) == (4, 4, 6, 1)
    assert (len(looked.rewritten), looked.dropped_entries, len(looked.parts)) == (4, 6, 1)
    (meta,) = manifests(table)
    assert (meta.num_added_files, meta.num_deleted_files) == (1, 0)
    assert core.rows(table) == before
    latest = core.again(table).snapshots.latest()
    assert latest is not None
    assert (latest.id, latest.commit_kind.value, latest.delta_record_count, latest.total_record_count) == (
        5,
        "COMPACT",
        0,
        1,
    )


def test_the_second_time_nothing_is_to_be_done(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t", partitions=("p",))
    assert compact(table).rewritten == ()
    for i in range(3):
        core.insert(table, (i, "v", "p"))
    for options in (None, SORTED):
        compact(table, options)
        latest = core.again(table).snapshots.latest_id()
        assert compact(table, options).rewritten == ()
        assert core.again(table).snapshots.latest_id() == latest


def test_big_manifests_without_deleted_files_stay(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t", {"manifest.target-file-size": "1 b", "manifest.merge-min-count": "100"})
    for i in range(3):
        core.insert(table, (i, "v", None))
    assert compact(table).rewritten == ()
    kept = [m.file_name for m in manifests(table)]
    core.overwrite(table, (9, "v", None))
    core.insert(table, (10, "v", None))
    done = compact(table)
    assert [m.file_name for m in done.rewritten][:3] == kept
    assert len(done.kept) == 1 and len(core.rows(table)) == 2


def test_entries_are_sorted_by_the_first_partition_column_or_the_one_named(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t", partitions=("p", "v"))
    for p, v in (("b", "1"), ("a", "2"), (None, "3"), ("c", "0")):
        core.insert(table, (1, v, p))
    default = "__DEFAULT_PARTITION__"
    compact(table, SORTED)
    assert partitions_of(table) == [["p=a/v=2", "p=b/v=1", "p=c/v=0", f"p={default}/v=3"]]
    core.insert(table, (1, "9", "a"))
    compact(table, {**SORTED, "manifest-sort.partition-field": "v"})
    assert [text[-1] for text in partitions_of(table)[0]] == ["0", "1", "2", "3", "9"]
    with pytest.raises(InvalidOptionError, match="which is not a partition column"):
        compact(table, {**SORTED, "manifest-sort.partition-field": "id"})


def test_only_manifests_that_overlap_are_sorted(tmp_path: Path) -> None:
    options = {"manifest.target-file-size": "1 b", "manifest.merge-min-count": "100"}
    table = core.make_table(tmp_path / "t", options, partitions=("p",))
    for ps in (("a", "b"), ("c", "d"), ("f", "h"), ("g", "i"), ("j", "k")):
        core.insert(table, *((1, "v", p) for p in ps))
    names = [m.file_name for m in manifests(table)]
    done = compact(table, SORTED)
    assert [m.file_name for m in done.rewritten] == names[2:4]
    assert [p for part in partitions_of(table) for p in part] == [f"p={p}" for p in "abcdjkfghi"]
    spans = ranges(table, "p", [table.manifests.read(m.file_name) for m in manifests(table)])
    assert all(
        low >= high for (_, high), (low, _) in zip(sorted(spans.tolist()), sorted(spans.tolist())[1:], strict=False)
    )


def test_no_more_is_sorted_than_allowed(tmp_path: Path) -> None:
    options = {"manifest.target-file-size": "1 b", "manifest.merge-min-count": "100"}
    table = core.make_table(tmp_path / "t", options, partitions=("p",))
    for last in "efgh":
        core.insert(table, (1, "v", "a"), (2, "v", last))
    done = compact(table, {**SORTED, "manifest-sort.max-rewrite-size": "1 b"})
    assert len(done.rewritten) == 2
    while (plan := compact(table, {**SORTED, "manifest-sort.max-rewrite-size": "10 kb"})).rewritten:
        assert len(plan.rewritten) > 1
    assert len(core.rows(table)) == 8


def test_commits_sort_what_they_merge(tmp_path: Path) -> None:
    options = {**SORTED, "manifest.full-compaction-threshold-size": "1 b"}
    table = core.make_table(tmp_path / "t", options, partitions=("p",))
    for p in "cab":
        core.insert(table, (1, "v", p))
    core.insert(table, (1, "v", "d"))
    assert partitions_of(table) == [["p=a", "p=b", "p=c"], ["p=d"]]


def test_a_rival_s_commit_is_built_upon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = core.make_table(tmp_path / "t")
    for i in range(3):
        core.overwrite(table, (i, "v", None))
    compactor = ManifestCompactor(core.again(table))
    create = RenamingSnapshotCommit._created
    tries = []

    def rival(self: RenamingSnapshotCommit, snapshot: Snapshot, *, locked: bool) -> Created:
        if self.table is compactor.table:
            tries.append(snapshot)
            if len(tries) == 1:
                core.insert(table, (9, "v", None))
        return create(self, snapshot, locked=locked)

    monkeypatch.setattr(RenamingSnapshotCommit, "_created", rival)
    made = compactor.run()
    assert made is not None and made.id == 5 and len(tries) == 2
    assert sorted(core.rows(table)) == [(2, "v", None), (9, "v", None)]
    assert sum(m.num_deleted_files for m in manifests(table)) == 0


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(["insert", "some", "all", "plain", "sort", "tiny"]), st.integers(0, 5)), max_size=12
    )
)
def test_whatever_was_done_the_files_stay_the_same(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = {"manifest.target-file-size": "3 kb", "manifest.merge-min-count": "4"}
        table = core.make_table(Path(folder) / "t", options, partitions=("p",))
        model: dict[str, set[int]] = {}
        for number, (step, p) in enumerate(steps):
            row = (number, "v", f"p{p}")
            match step:
                case "insert":
                    core.insert(table, row)
                    model.setdefault(row[2], set()).add(number)
                case "some":
                    core.overwrite(table, row, dynamic=True)
                    model[row[2]] = {number}
                case "all":
                    core.overwrite(table, row)
                    model = {row[2]: {number}}
                case _:
                    sizes = {"manifest-sort.max-rewrite-size": "1 b"} if step == "tiny" else {}
                    compact(table, None if step == "plain" else {**SORTED, **sizes})
                    if step == "plain" and model:
                        assert all(e.kind is FileKind.ADD for e in core.live(table))
                        assert sum(m.num_deleted_files for m in manifests(table)) == 0
            assert {r[0] for r in core.rows(table)} == {n for numbers in model.values() for n in numbers}
