"""The hazards of a commit: rivals, lost answers, crashes, stale hints; what stands must stand once and be readable."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptFileError,
    InvalidInputError,
    MissingFileError,
    PaimonError,
)
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.storage.commit.snapshot.snapshot_commit import Created, RenamingSnapshotCommit
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.staging.proposal import Overwrite, Proposal, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask
from tests.storage import commits
from tests.storage.core_tables import (
    again,
    batch_of,
    compact,
    compacted,
    data_files,
    files_below,
    insert,
    live,
    make_table,
    overwrite,
    rows,
    triggered,
    written,
)
from tests.storage.faulty_io import Died, MortalFileIO, UncertainFileIO
from tests.storage.small_tables import on_disk, reachable

NO_WAIT = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms", "commit.max-retries": "1000"}


def snapshot_ids(table: Table) -> list[int]:
    return again(table).snapshots.directory.versions()


# ---- rivals ----------------------------------------------------------------------------------------------------------


def commit_often(table: Table, writer: int, commits: int) -> None:
    for i in range(commits):
        insert(table, (writer * 1000 + i, f"w{writer}", "x"))


def test_threads_that_race_lose_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda writer: commit_often(table, writer, 8), range(4)))
    assert sorted(r[0] for r in rows(table)) == [w * 1000 + i for w in range(4) for i in range(8)]
    assert snapshot_ids(table) == list(range(1, 33))
    assert reachable(table) == on_disk(table)


def test_processes_that_race_lose_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**NO_WAIT, "bucket": "2", "manifest.merge-min-count": "8"}, keys=["id"])
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=commit_often, args=(again(table), w, 25)) for w in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [w.exitcode for w in writers] == [0] * 4
    assert sorted(r[0] for r in rows(table)) == [w * 1000 + i for w in range(4) for i in range(25)]
    assert snapshot_ids(table) == list(range(1, 101))
    assert reachable(table) <= on_disk(table)


def rival_at(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], times: int = 1) -> None:
    """Let a rival act after a committer has looked at the newest snapshot and before it creates its own."""
    left = [act] * times
    validate = Transaction._validate

    def checked(transaction: Transaction, proposal: Proposal) -> None:
        validate(transaction, proposal)
        if left:
            turn = left.pop()
            remaining = left.copy()
            left.clear()  # the rival's own commit is left in peace
            turn()
            left.extend(remaining)

    monkeypatch.setattr(Transaction, "_validate", checked)


def test_a_committer_that_is_overtaken_builds_on_the_rival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "a", "x"))
    rival_at(monkeypatch, lambda: insert(table, (2, "b", "x")))
    made = insert(table, (3, "c", "x"))
    assert made.id == 3
    assert sorted(rows(table)) == [(1, "a", "x"), (2, "b", "x"), (3, "c", "x")]
    assert made.total_record_count == 3
    assert reachable(table) == on_disk(table)


def test_rivals_that_always_win_are_a_conflict_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", {**NO_WAIT, "commit.max-retries": "2"})
    insert(table, (1, "a", "x"))
    messages = written(again(table), (2, "b", "x"))
    rival_at(monkeypatch, lambda: insert(table, (0, "rival", "x")), times=9)
    with pytest.raises(CommitConflictError, match="failed after 3 attempts"):
        commits.append(again(table), messages)
    assert snapshot_ids(table) == [1, 2, 3, 4]
    assert reachable(table) == on_disk(table)


def test_a_commit_gives_up_after_its_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", {**NO_WAIT, "commit.timeout": "1 ms", "commit.min-retry-wait": "20 ms"})
    monkeypatch.setattr(RenamingSnapshotCommit, "_created", lambda self, snapshot, *, locked: Created.NO)
    monkeypatch.setattr(random, "random", lambda: 1.0)
    with pytest.raises(CommitConflictError, match="commit failed after"):
        insert(table, (1, "a", "x"))


def test_a_snapshot_that_expires_while_it_is_built_upon_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    first = insert(table, (1, "a", "x"))

    def expire() -> None:
        insert(table, (2, "b", "x"))
        directory = again(table).snapshots.directory
        table.file_io.delete(directory.path(first.id))
        table.file_io.delete(table.paths.manifest(first.delta_manifest_list))

    rival_at(monkeypatch, expire)
    insert(table, (3, "c", "x"))
    assert sorted(r[0] for r in rows(table)) == [1, 2, 3]


def test_a_manifest_that_is_missing_for_good_is_an_error(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    first = insert(table, (1, "a", "x"))
    table.file_io.delete(table.paths.manifest(first.delta_manifest_list))
    with pytest.raises(MissingFileError):
        insert(table, (2, "b", "x"))


# ---- conflicts -------------------------------------------------------------------------------------------------------


def test_a_file_that_a_rival_removed_is_a_conflict_and_nothing_is_left(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "x"))
    messages = compacted(table)
    overwrite(table, (9, "z", "x"))
    with pytest.raises(CommitConflictError, match="was removed by another job"):
        commits.compact(again(table), messages)
    assert rows(table) == [(9, "z", "x")]
    assert reachable(table) == on_disk(table)


def test_two_compactions_of_the_same_files_conflict_and_the_first_stands(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "x"))
    mine, other = compacted(table), compacted(table)
    assert commits.compact(again(table), mine) is not None
    with pytest.raises(CommitConflictError):
        commits.compact(again(table), other)
    assert rows(table) == [(1, "b", "x")]
    assert reachable(table) == on_disk(table)


def test_compactions_of_other_files_whose_results_overlap_conflict(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"), (5, "a", "x"))
    insert(table, (3, "b", "x"), (7, "b", "x"))
    (message,) = compacted(table)
    first, second = (replace(f, level=0) for f in message.compact_before)
    commits.compact(again(table), [replace(message, compact_before=(first,), compact_after=(replace(first, level=5),))])
    with pytest.raises(CommitConflictError, match="on level 5 two files would overlap"):
        commits.compact(
            again(table), [replace(message, compact_before=(second,), compact_after=(replace(second, level=5),))]
        )
    assert sorted(r[0] for r in rows(table)) == [1, 3, 5, 7]


def test_files_on_a_level_that_touch_in_one_key_overlap(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"), (5, "a", "x"))
    insert(table, (5, "b", "x"), (7, "b", "x"))
    (message,) = compacted(table)
    moved = tuple(replace(f, level=5) for f in message.compact_before)
    with pytest.raises(CommitConflictError, match="overlap"):
        commits.compact(again(table), [replace(message, compact_after=moved)])


def test_rows_survive_when_the_compaction_that_came_with_them_conflicts(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"num-sorted-run.compaction-trigger": "2"}, keys=["id"])
    insert(table, (1, "a", "x"))
    messages = written(again(table), (2, "b", "x"))
    compaction = triggered(table, messages)
    assert compaction[0].compact_after
    compact(table)
    made = commits.append(again(table), [*messages, *compaction])
    assert [s.commit_kind for s in made] == [CommitKind.APPEND]
    assert sorted(rows(table)) == [(1, "a", "x"), (2, "b", "x")]
    assert reachable(table) == on_disk(table)


def test_rows_survive_when_the_compaction_that_came_with_them_cannot_be_written(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"num-sorted-run.compaction-trigger": "2"}, keys=["id"])
    insert(table, (1, "a", "x"))
    messages = written(again(table), (2, "b", "x"))
    compaction = triggered(table, messages)

    class Full(LocalFileIO):
        commits = 0

        def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
            self.commits += 1
            if self.commits > 1:
                raise PaimonError(f"Cannot create {path}: no space left.")
            return super().try_create_exclusive(path, data, locked=locked)

    made = commits.append(again(table, file_io=Full()), [*messages, *compaction])
    assert [s.commit_kind for s in made] == [CommitKind.APPEND]
    assert sorted(rows(table)) == [(1, "a", "x"), (2, "b", "x")]


def test_a_partition_cannot_get_a_second_number_of_buckets(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "2"}, keys=["id", "p"], partitions=["p"])
    insert(table, (1, "a", "x"))
    other = again(table, {"bucket": "3"})
    with pytest.raises(InvalidInputError, match="partition p=x has 2 buckets, but the option 'bucket' is 3"):
        insert(other, (2, "b", "x"))
    unknowing = WriteTask(other).run([batch_of(other, [(2, "b", "x")])])
    with pytest.raises(CommitConflictError, match="partition p=x would hold files of 2 and of 3 buckets"):
        commits.append(other, unknowing)
    insert(other, (2, "b", "y"))
    assert overwrite(other, (3, "c", "x"), dynamic=True) is not None
    assert sorted(rows(table)) == [(2, "b", "y"), (3, "c", "x")]
    assert {(e.total_buckets) for e in live(table)} == {3}
    assert reachable(table) <= on_disk(table)


def test_an_overwrite_removes_what_came_after_it_was_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "a", "x"))
    rival_at(monkeypatch, lambda: insert(table, (2, "b", "x")))
    overwrite(table, (3, "c", "x"))
    assert rows(table) == [(3, "c", "x")]


def test_the_same_messages_are_not_committed_twice(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    messages = written(again(table), (2, "b", "x"))
    commits.append(again(table), messages)
    with pytest.raises(CommitConflictError, match="is in the table already"):
        commits.append(again(table), messages)
    assert sorted(rows(table)) == [(1, "a", "x"), (2, "b", "x")]


def test_nothing_to_commit_makes_no_snapshot(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    assert commits.append(table, []) == []
    assert commits.compact(table, []) is None
    assert overwrite(table) is None
    assert snapshot_ids(table) == []


# ---- lost answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["error", "taken"])
@pytest.mark.parametrize("earlier", [0, 2])
def test_a_lost_answer_commits_once(tmp_path: Path, answer: str, earlier: int) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    for i in range(earlier):
        insert(table, (i, "before", "x"))
    lossy = UncertainFileIO(answer)
    made = insert(again(table, file_io=lossy), (9, "mine", "x"))
    assert made.id == earlier + 1
    assert snapshot_ids(table) == list(range(1, earlier + 2))
    assert len(rows(table)) == earlier + 1
    assert not lossy.deleted
    assert reachable(table) == on_disk(table)


def test_an_answer_lost_while_a_rival_won_is_tried_again(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    lossy = UncertainFileIO("error", creates=False)
    creates = UncertainFileIO.try_create_exclusive

    class Overtaken(UncertainFileIO):
        def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
            if self.times and "/snapshot/" in path:
                insert(table, (1, "rival", "x"))
            return creates(self, path, data, locked=locked)

    insert(again(table, file_io=Overtaken("error", creates=False)), (2, "mine", "x"))
    assert not lossy.deleted
    assert sorted(r[0] for r in rows(table)) == [1, 2]
    assert snapshot_ids(table) == [1, 2]


@pytest.mark.parametrize("answer", ["error", "taken"])
@pytest.mark.parametrize("creates", [True, False])
def test_an_unknown_outcome_says_so_and_deletes_nothing(tmp_path: Path, answer: str, creates: bool) -> None:
    table = make_table(tmp_path / "t", NO_WAIT, keys=["id"])
    insert(table, (1, "a", "x"))
    blind = UncertainFileIO(answer, creates=creates, readable=False)
    before = files_below(table)
    messages = written(again(table), (2, "b", "x"))
    with pytest.raises(CommitUnknownError, match="could not be determined") as caught:
        commits.append(again(table, file_io=blind), messages, user="me", identifier=7)
    assert (caught.value.commit_user, caught.value.commit_identifier) == ("me", 7)
    assert not blind.deleted
    assert before <= files_below(table)
    assert len(rows(table)) == (2 if creates else 1)


def test_an_object_store_that_may_still_be_creating_is_an_unknown_outcome(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    for remote, expected in ((True, CommitUnknownError), (False, PaimonError)):
        io = UncertainFileIO("error", creates=False, remote=remote)
        with pytest.raises(expected) as caught:
            insert(again(table, file_io=io), (2, "b", "x"))
        assert isinstance(caught.value, CommitUnknownError) == remote
        assert bool(io.deleted) is not remote


def test_files_that_a_lost_commit_made_live_are_never_removed(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT, keys=["id"])
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "x"))
    messages = compacted(table)
    with pytest.raises(CommitUnknownError):
        commits.compact(again(table, file_io=UncertainFileIO("error", readable=False)), messages)
    with pytest.raises(CommitConflictError):
        commits.compact(again(table), messages)
    assert rows(table) == [(1, "b", "x")]
    assert reachable(table) == on_disk(table)


@pytest.mark.parametrize("keep", [1, 2])
@pytest.mark.parametrize("compacts", [False, True])
def test_a_lost_commit_that_expired_before_it_was_looked_for_keeps_its_files(
    tmp_path: Path, compacts: bool, keep: int
) -> None:
    table = make_table(tmp_path / "t", {**NO_WAIT, "write-only": "true"}, keys=["id"])
    insert(table, (1, "before", "x"))

    class Slow(UncertainFileIO):
        def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
            try:
                return super().try_create_exclusive(path, data, locked=locked)
            finally:
                if "/snapshot/" in path:
                    for number in range(3, 6):
                        insert(table, (number, "rival", "x"))
                    if compacts:
                        compact(table)
                    expire_snapshots(again(table), Retention(keep, keep, 2**62, 100))

    slow = again(table, file_io=Slow("error"))
    if compacts and keep == 1:  # none of its files is live any more, by which it could be known
        with pytest.raises(CommitUnknownError):
            commits.append(slow, written(slow, (2, "mine", "x")))
    else:
        assert commits.append(slow, written(slow, (2, "mine", "x")))
    assert sorted(r[0] for r in rows(table)) == [1, 2, 3, 4, 5]


# ---- manifests -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"manifest.merge-min-count": "3"},
        {"manifest.merge-min-count": "2", "manifest.target-file-size": "4 kb"},
        {"manifest.merge-min-count": "5", "manifest.full-compaction-threshold-size": "8 kb"},
        {"manifest.target-file-size": "3 kb", "manifest.full-compaction-threshold-size": "5 kb"},
        {"manifest.target-file-size": "1 b", "manifest.full-compaction-threshold-size": "1 b"},
    ],
)
def test_merged_manifests_hold_the_same_files(tmp_path: Path, options: dict[str, str]) -> None:
    table = make_table(tmp_path / "t", options, keys=["id", "p"], partitions=["p"])
    chance = random.Random(1)
    model: dict[int, str] = {}
    counts = []
    for i in range(40):
        key, part = i, chance.choice("xyz")
        action = chance.random()
        if action < 0.7:
            insert(table, (key, f"v{i}", part))
            model[key] = part
        elif action < 0.85:
            compact(table)
        else:
            overwrite(table, (key, f"v{i}", part), dynamic=True)
            model = {k: p for k, p in model.items() if p != part} | {key: part}
        latest = again(table).snapshots.latest()
        assert latest is not None
        manifests = table.manifests.read_list(latest.base_manifest_list)
        counts.append(len(manifests))
        assert len(live(table)) == sum(m.num_added_files - m.num_deleted_files for m in manifests) + sum(
            m.num_added_files - m.num_deleted_files for m in table.manifests.read_list(latest.delta_manifest_list)
        )
        assert latest.total_record_count == sum(e.file.row_count for e in live(table))
    assert {(r[0], r[2]) for r in rows(table)} == set(model.items())
    assert reachable(table) <= on_disk(table)
    if "manifest.merge-min-count" in options:
        assert max(counts) <= 12


def test_whole_merging_leaves_big_manifests_alone_that_lost_no_file(tmp_path: Path) -> None:
    options = {"manifest.target-file-size": "1 b", "manifest.full-compaction-threshold-size": "1 b"}
    table = make_table(tmp_path / "t", options, partitions=["p"])
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "y"))
    overwrite(table, (3, "c", "y"), dynamic=True)
    latest = insert(table, (4, "d", "z"))
    names = [m.file_name for m in table.manifests.read_list(latest.base_manifest_list)]
    first = table.manifests.read_list(again(table).snapshots.get(1).delta_manifest_list)[0].file_name
    assert first in names
    assert sorted(rows(table)) == [(1, "a", "x"), (3, "c", "y"), (4, "d", "z")]


# ---- hints -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hint", [None, b"", b"1", b"2", b"99", b"-1", b"0", b"x", b"\xff\xfe", b"3\n", b"9" * 400, b"9" * 5000]
)
def test_hints_that_are_missing_stale_or_broken_do_not_matter(tmp_path: Path, hint: bytes | None) -> None:
    table = make_table(tmp_path / "t")
    for i in range(3):
        insert(table, (i, "v", "x"))
    for name in ("LATEST", "EARLIEST"):
        path = Path(table.path) / "snapshot" / name
        path.unlink()
        if hint is not None:
            path.write_bytes(hint)
    snapshots = again(table).snapshots
    assert snapshots.latest_id() == 3
    assert (snapshots.earliest_id() or 0) <= 3
    assert insert(table, (3, "v", "x")).id == 4
    assert len(rows(table)) == 4
    assert (Path(table.path) / "snapshot" / "LATEST").read_bytes() == b"4"


def test_a_directory_in_the_place_of_a_hint_does_not_matter(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    hint = Path(table.path) / "snapshot" / "LATEST"
    hint.unlink()
    hint.mkdir()
    assert insert(table, (2, "v", "x")).id == 2
    assert len(rows(table)) == 2


def test_a_hint_that_cannot_be_written_does_not_undo_the_commit(tmp_path: Path) -> None:
    class NoHints(LocalFileIO):
        def write_bytes(self, path: str, data: bytes) -> None:
            if path.endswith(("LATEST", "EARLIEST")):
                raise PaimonError(f"Cannot write {path}: permission denied.")
            super().write_bytes(path, data)

    table = make_table(tmp_path / "t")
    for i in range(3):
        assert insert(again(table, file_io=NoHints()), (i, "v", "x")).id == i + 1


def test_strange_files_among_snapshots_are_passed_over(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    folder = Path(table.path) / "snapshot"
    for name in ("snapshot-x", "snapshot-", "snapshot-7.tmp", ".snapshot-9.tmp", "README", "snapshot--3"):
        (folder / name).write_bytes(b"?")
    (folder / "snapshot-12").mkdir()
    (folder / "LATEST").unlink()
    assert insert(table, (2, "v", "x")).id == 2


# ---- crashes ---------------------------------------------------------------------------------------------------------


def an_append(table: Table, file_io: FileIO) -> None:
    dying = again(table, file_io=file_io)
    commits.append(dying, plan_write(dying).run([batch_of(dying, [(1, "new", "x"), (9, "new", "y")])]))


def an_overwrite(table: Table, file_io: FileIO) -> None:
    dying = again(table, file_io=file_io)
    messages = plan_write(dying, Overwrite()).run([batch_of(dying, [(9, "new", "x")])])
    commits.overwrite(dying, messages, lambda latest: overwritten(dying, latest, Overwrite(), messages))


def a_compaction(table: Table, file_io: FileIO) -> None:
    dying = again(table, file_io=file_io)
    commits.compact(dying, compacted(dying))


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("act", [an_append, an_overwrite, a_compaction])
def test_a_crash_between_any_two_file_operations_leaves_the_table_as_it_was_or_as_it_should_be(
    tmp_path: Path, act: Callable[[Table, FileIO], None], torn: bool
) -> None:
    start = make_table(tmp_path / "start", {"manifest.merge-min-count": "2"}, keys=["id", "p"], partitions=["p"])
    insert(start, (1, "old", "x"), (2, "old", "y"))
    insert(start, (1, "older", "x"))
    done = make_copy(start, tmp_path / "done")
    act(done, LocalFileIO())
    before, after = sorted(rows(start)), sorted(rows(done))
    outcomes = []
    for at in range(1_000):
        table = make_copy(start, tmp_path / f"at-{at}")
        mortal = MortalFileIO(at, torn=torn)
        try:
            act(table, mortal)
            finished = True
        except Died:
            finished = False
        whole = again(table)
        found = sorted(rows(whole))
        assert found in (before, after)
        outcomes.append(found == after and len(snapshot_ids(whole)) == 3)
        assert reachable(whole) <= on_disk(whole)
        insert(whole, (5, "next", "x"))
        assert sorted(rows(whole)) == sorted([*found, (5, "next", "x")])
        assert snapshot_ids(whole) == list(range(1, len(snapshot_ids(whole)) + 1))
        shutil.rmtree(table.path)
        if finished:
            break
    assert outcomes == sorted(outcomes)
    assert outcomes[-1] and not outcomes[0]
    assert len(outcomes) > 10


def make_copy(table: Table, path: Path) -> Table:
    shutil.copytree(table.path, path)
    return replace(table, path=str(path))


def test_an_error_while_manifests_are_written_leaves_none_of_them(tmp_path: Path) -> None:
    class FullAfter(LocalFileIO):
        def __init__(self, writes: int) -> None:
            self.writes = writes

        def write_bytes(self, path: str, data: bytes) -> None:
            self.writes -= 1
            if self.writes < 0:
                raise PaimonError(f"Cannot write {path}: no space left.")
            super().write_bytes(path, data)

    table = make_table(tmp_path / "t", {"manifest.merge-min-count": "2"})
    for i in range(3):
        insert(table, (i, "v", "x"))
    before = {p for p in files_below(table, hidden=True) if p.startswith("manifest/")}
    for writes in range(3):
        messages = written(again(table), (9, "v", "x"))
        with pytest.raises(PaimonError, match="no space left"):
            commits.append(again(table, file_io=FullAfter(writes)), messages)
        assert {p for p in files_below(table, hidden=True) if p.startswith("manifest/")} == before
    assert len(rows(table)) == 3
    assert len(data_files(table)) == 3


@pytest.mark.parametrize("member", ["nextRowId", "totalRecordCount"])
@pytest.mark.parametrize("number", [2**63 - 1, 2**63 - 2])
def test_rows_are_not_counted_beyond_what_the_format_holds(tmp_path: Path, member: str, number: int) -> None:
    table = make_table(tmp_path / "t", {"row-tracking.enabled": "true", "data-evolution.enabled": "true"})
    insert(table, (1, "a", "x"))
    file = Path(again(table).snapshots.directory.path(1))
    file.write_text(json.dumps({**json.loads(file.read_text()), member: number}))
    before = on_disk(table)
    with pytest.raises(CorruptFileError, match="snapshot-1: its row counts"):
        insert(again(table), (2, "b", "x"), (3, "c", "x"))
    assert on_disk(table) == before
