"""Options of commits: names of commit users, empty commits, strict mode, the rows of a file."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import NotAllowedError
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.operations.commit import COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT
from paimon_sql.storage.compact.compaction import EVERYTHING
from paimon_sql.storage.compact.layouts.primary_key import plan_compaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.small_tables import (
    batch_of,
    compact,
    fresh,
    insert,
    make_table,
    on_disk,
    overwrite,
    reachable,
    rows_at,
)

STRICT = COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.key


def strict(table: Table, last_safe: int) -> Table:
    return fresh(table).with_options({STRICT: str(last_safe)})


def append(table: Table, *rows: tuple[Any, ...], user: str | None = None) -> Snapshot:
    return commits.append(table, plan_write(table).run([batch_of(table, rows)]), user=user)[-1]


def keyed(path: Path) -> Table:
    return make_table(path, primary_keys=("id", "p"), partition_keys=("p",))


def test_the_names_of_commit_users_begin_with_the_prefix(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"commit.user-prefix": "nightly"})
    first, second = insert(table, (1, "a", "p")), insert(table, (2, "a", "p"))
    prefix, _, name = first.commit_user.partition("_")
    assert prefix == "nightly"
    assert str(uuid.UUID(name)) == name
    assert first.commit_user != second.commit_user


def test_a_writer_with_a_name_of_its_own_keeps_it(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"commit.user-prefix": "nightly"})
    assert append(table, (1, "a", "p"), user="stream").commit_user == "stream"


def test_an_empty_commit_makes_no_snapshot_unless_the_option_asks_for_one(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    insert(table, (1, "a", "p"))
    assert commits.append(table, []) == []
    keeping = fresh(table).with_options({"snapshot.ignore-empty-commit": "false"})
    (made,) = commits.append(keeping, [])
    assert (made.id, made.commit_kind, made.delta_record_count) == (2, CommitKind.APPEND, 0)
    assert rows_at(table, made) == [(1, "a", "p")]
    assert commits.append(fresh(table).with_options({"snapshot.ignore-empty-commit": "true"}), []) == []


def test_an_overwrite_of_nothing_by_nothing_makes_a_snapshot_where_the_option_asks_for_one(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"snapshot.ignore-empty-commit": "false"})
    made = commits.overwrite(table, [], lambda latest: [])
    assert made is not None
    assert (made.id, made.commit_kind) == (1, CommitKind.OVERWRITE)


def test_only_streams_make_snapshots_of_nothing_by_force(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"commit.force-create-snapshot": "true"})
    assert commits.append(table, []) == []
    (made,) = commits.append(table, [], user="stream", identifier=3)
    assert (made.commit_user, made.commit_identifier) == ("stream", 3)


def test_strict_mode_lets_appends_of_others_pass(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    insert(table, (1, "a", "x"))
    insert(table, (2, "a", "x"))
    assert append(strict(table, 1), (3, "b", "x")).id == 3


def test_strict_mode_refuses_what_follows_a_compaction_of_another_in_the_partition(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "x"))
    assert compact(table) is not None
    files = on_disk(table)
    with pytest.raises(
        NotAllowedError, match=r"snapshot 3 of commit user .* \(COMPACT\) changed files of partition p=x"
    ):
        append(strict(table, 2), (2, "c", "x"))
    assert on_disk(table) == files == reachable(table)
    assert append(strict(table, 2), (2, "c", "y")).id == 4
    assert append(strict(table, 3), (2, "c", "x")).id == 5


def test_strict_mode_refuses_what_follows_an_overwrite_of_another(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    insert(table, (1, "a", "x"))
    overwrite(table, (2, "b", "x"))
    with pytest.raises(NotAllowedError, match=r"\(OVERWRITE\) changed files of the table"):
        append(strict(table, 1), (3, "c", "x"))
    assert append(strict(table, 2), (3, "c", "x")).id == 3


def test_strict_mode_refuses_an_overwrite_of_what_another_has_appended(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    with pytest.raises(NotAllowedError, match=r"snapshot 2 of commit user .* \(APPEND\)"):
        overwrite(strict(table, 1), (3, "c", "x"))
    assert overwrite(strict(table, 2), (3, "c", "x")).id == 3


def test_in_strict_mode_a_users_own_commits_are_safe(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    append(table, (1, "a", "x"), user="me")
    compacted = fresh(table)
    messages = [
        task.run() for task in plan_compaction(compacted, compacted.snapshots.latest(), full=True, scope=EVERYTHING)
    ]
    assert commits.compact(compacted, messages, user="me") is not None
    assert append(strict(table, 0), (2, "b", "x"), user="me").id == 3
    with pytest.raises(NotAllowedError):
        append(strict(table, 0), (2, "b", "x"))


def test_strict_mode_of_minus_one_checks_a_user_from_its_second_commit_on(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    insert(table, (1, "a", "x"))
    compact(table)
    mine = strict(table, -1)
    assert append(mine, (2, "b", "x"), user="me").id == 3
    assert append(replace(mine), (3, "b", "x"), user="me").id == 4
    compact(fresh(table))
    with pytest.raises(NotAllowedError, match="snapshot 5"):
        append(replace(mine), (4, "b", "x"), user="me")
    assert append(replace(mine), (4, "b", "x")).id == 6


def test_strict_mode_refuses_where_expired_snapshots_would_tell(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    for number in range(3):
        insert(table, (number, "a", "x"))
    Path(table.snapshots.directory.path(2)).unlink()
    with pytest.raises(NotAllowedError, match="snapshot 2 has expired"):
        append(strict(table, 1), (3, "c", "x"))


def test_strict_mode_says_nothing_of_commits_without_files(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    insert(table, (1, "a", "x"))
    overwrite(table, (2, "b", "x"))
    assert commits.annotate(strict(table, 1), {"k": "v"}).id == 3


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_a_new_file_holds_no_more_rows_than_its_option_says(tmp_path: Path, keys: tuple[str, ...]) -> None:
    table = make_table(tmp_path, {"target-file-row-num": "4"}, primary_keys=keys)
    rows = [(i, "v", "p") for i in range(11)]
    made = insert(table, *rows)
    assert sorted(live_files(table, made).entries["row_count"].to_pylist()) == [3, 4, 4]
    assert rows_at(table, made) == rows


def test_compactions_go_by_size_alone(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"target-file-row-num": "4"}, primary_keys=("id",))
    insert(table, *((i, "v", "p") for i in range(11)))
    assert live_files(table, compact(table)).entries["row_count"].to_pylist() == [11]


@pytest.mark.parametrize(("given", "threads"), [({}, 4), ({"scan.manifest.parallelism": "2"}, 2)])
def test_manifests_are_read_by_as_many_threads_as_the_option_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], threads: int
) -> None:
    used = []

    def noted(function: Callable[[str], object], items: Sequence[str], number: int) -> list[object]:
        used.append(number)
        return [function(item) for item in items]

    monkeypatch.setattr("paimon_sql.storage.metadata.manifests.map_in_threads", noted)
    table = make_table(tmp_path, given)
    made = [insert(table, (i, "v", "p")) for i in range(3)]
    assert len(rows_at(fresh(table), made[-1])) == 3
    assert set(used) == {threads}


def test_entries_that_delete_a_file_have_no_statistics_where_the_option_says_so(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"manifest.delete-file-drop-stats": "true"}, primary_keys=("id",))
    insert(table, (1, "a", "p"))
    insert(table, (2, "b", "p"))
    compact(table)
    latest = fresh(table).snapshots.latest()
    assert latest is not None
    (held,) = fresh(table).manifests.read_all(
        [m.file_name for m in fresh(table).manifests.read_list(latest.delta_manifest_list)]
    )
    told = [(e.kind.name, len(e.file.value_stats.null_counts or ())) for e in entries(held)]
    assert sorted(told) == [("ADD", 3), ("DELETE", 0), ("DELETE", 0)]
    assert len(rows_at(fresh(table), latest)) == 2
