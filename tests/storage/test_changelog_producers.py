"""Changelogs made by compactions: replayed onto a copy they give the table, at every step."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import Row, again, compact, make_table, rows, triggered, written

COLUMNS = (DataField(0, "id", IntType()), DataField(1, "v", IntType()), DataField(2, "w", string_type()))
Change = tuple[str, Row]
SHORT = ("+I", "-U", "+U", "-D")


def changes(table: Table, snapshot: Snapshot) -> list[Change]:
    """The changelog of a snapshot in its order."""
    found: list[Change] = []
    for meta in table.manifests.read_list(snapshot.changelog_manifest_list):
        for e in entries(table.manifests.read(meta.file_name)):
            columns = [*table.schema.names, VALUE_KIND.name]
            for batch in DataFileReader(table, e.partition, e.bucket, e.file, columns).batches():
                *values, kinds = (c.to_pylist() for c in batch.columns)
                found += [(SHORT[k], row) for k, row in zip(kinds, zip(*values, strict=True), strict=True)]
    return found


def write(table: Table, *given_rows: Row, kinds: Sequence[int] | None = None) -> list[Snapshot]:
    """Write and compact what is due, as a statement does."""
    messages = written(again(table), *given_rows, kinds=kinds)
    return commits.append(again(table), [*messages, *triggered(again(table), messages)])


def upsert(table: Table, *given_rows: Row, kinds: Sequence[int] | None = None) -> list[Change]:
    """The changes that a write tells."""
    return [c for s in write(table, *given_rows, kinds=kinds) for c in changes(table, s)]


def table_of(tmp_path: Path, **options: str) -> Table:
    texts = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return make_table(tmp_path / "t", {"file.format": "parquet", **texts}, columns=COLUMNS, keys=["id"])


@pytest.mark.parametrize(
    "producer",
    [
        {"changelog_producer": "lookup"},
        {"changelog_producer": "full-compaction", "full_compaction__delta_commits": "1"},
    ],
)
def test_updates_tell_the_old_row_and_the_new_one(tmp_path: Path, producer: dict[str, str]) -> None:
    table = table_of(tmp_path, **producer)
    assert upsert(table, (1, 1, "a"), (2, 1, "b")) == [("+I", (1, 1, "a")), ("+I", (2, 1, "b"))]
    assert upsert(table, (1, 2, "a"), (3, 1, "c")) == [("-U", (1, 1, "a")), ("+U", (1, 2, "a")), ("+I", (3, 1, "c"))]
    dead = [RowKind.DELETE]
    assert upsert(table, (2, None, None), kinds=dead) == [("-D", (2, 1, "b"))]
    assert upsert(table, (9, None, None), kinds=dead) == []
    assert sorted(rows(table)) == [(1, 2, "a"), (3, 1, "c")]


def test_an_update_that_changes_nothing_is_told_unless_it_is_forbidden(tmp_path: Path) -> None:
    told = table_of(tmp_path / "told", changelog_producer="lookup")
    quiet = table_of(
        tmp_path / "quiet", changelog_producer="lookup", changelog_producer__row_deduplicate="true",
        changelog_producer__row_deduplicate_ignore_fields="w",
    )  # fmt: skip
    for table in (told, quiet):
        upsert(table, (1, 1, "a"), (2, None, None))
    assert [k for k, _ in upsert(told, (1, 1, "a"))] == ["-U", "+U"]
    assert upsert(quiet, (1, 1, "other"), (2, None, None)) == []
    assert [k for k, _ in upsert(quiet, (1, None, "other"))] == ["-U", "+U"]


def test_a_first_row_is_told_once(tmp_path: Path) -> None:
    table = table_of(tmp_path, merge_engine="first-row", changelog_producer="lookup")
    assert upsert(table, (1, 1, "a"), (1, 2, "b")) == [("+I", (1, 1, "a"))]
    for n in range(7):
        assert upsert(table, (1, n, "later"), (10 + n, n, "new")) == [("+I", (10 + n, n, "new"))]
    compact(table)
    assert len(rows(table)) == 8
    assert (1, 1, "a") in rows(table)


OPTIONS = st.fixed_dictionaries(
    {
        "changelog-producer": st.sampled_from(["none", "lookup", "full-compaction"]),
        "deletion-vectors.enabled": st.sampled_from(["true", "false"]),
        "deletion-vectors.bitmap64": st.sampled_from(["true", "false"]),
        "merge-engine": st.sampled_from(["deduplicate", "partial-update", "aggregation"]),
        "changelog-producer.row-deduplicate": st.sampled_from(["true", "false"]),
        "num-sorted-run.compaction-trigger": st.sampled_from(["1", "3", "5"]),
        "num-levels": st.sampled_from(["3", "6"]),
        "compaction.max-size-amplification-percent": st.sampled_from(["200", "1000000"]),
        "compaction.size-ratio": st.sampled_from(["1", "0"]),
        "target-file-size": st.sampled_from(["1 b", "128 mb"]),
        "data-file.thin-mode": st.sampled_from(["true", "false"]),
        "lookup-compact": st.sampled_from(["radical", "gentle"]),
        "fields.v.aggregate-function": st.just("sum"),
        "file.format": st.sampled_from(["parquet", "avro"]),
    }
)
ROWS = st.tuples(st.integers(0, 9), st.none() | st.integers(0, 3), st.none() | st.sampled_from("xy"), st.booleans())
BATCHES = st.lists(st.lists(ROWS, max_size=8), min_size=1, max_size=8)


@settings(max_examples=60)
@given(options=OPTIONS, batches=BATCHES, data=st.data())
def test_a_copy_fed_with_the_changelog_is_the_table(
    options: dict[str, str], batches: list[list[tuple[int, Any, Any, bool]]], data: st.DataObject
) -> None:
    engine, producer = options["merge-engine"], options["changelog-producer"]
    if producer == "full-compaction":
        options["full-compaction.delta-commits"] = "1"
        options["deletion-vectors.enabled"] = "false"
    if engine != "aggregation":
        del options["fields.v.aggregate-function"]
    deletes = engine == "deduplicate"
    with tempfile.TemporaryDirectory() as folder:
        table = make_table(Path(folder) / "t", options, columns=COLUMNS, keys=["id"])
        model: dict[int, Row] = {}
        copy: dict[int, Row] = {}
        for batch in batches:
            kinds = [int(RowKind.DELETE) if dead and deletes else int(RowKind.INSERT) for *_, dead in batch]
            for (key, v, w, _), kind in zip(batch, kinds, strict=True):
                play(model, engine, (key, v, w), kind)
            made = write(table, *((k, v, w) for k, v, w, _ in batch), kinds=kinds)
            if data.draw(st.booleans(), "compact") and (snapshot := compact(table, full=data.draw(st.booleans()))):
                made.append(snapshot)
            for snapshot in made:
                for said, row in changes(table, snapshot):
                    replay(copy, said, row)
            if options["deletion-vectors.enabled"] == "false" or options["lookup-compact"] == "radical":
                assert sorted(rows(table), key=repr) == sorted(model.values(), key=repr)
            if producer != "none" and options["lookup-compact"] == "radical":
                assert copy == model
        if compact(table) and producer != "none":
            for said, row in changes(table, again(table).snapshots.latest()):  # type: ignore[arg-type]
                replay(copy, said, row)
        assert sorted(rows(table), key=repr) == sorted(model.values(), key=repr)
        assert producer == "none" or copy == model


def play(model: dict[int, Row], engine: str, row: Row, kind: int) -> None:
    key, v, w = row
    if kind == RowKind.DELETE:
        model.pop(key, None)
        return
    old = model.get(key)
    if engine == "deduplicate" or old is None:
        model[key] = row
        return
    newest = w if w is not None else old[2]
    if engine == "aggregation":
        total = old[1] if v is None else v if old[1] is None else v + old[1]
        model[key] = (key, total, newest)
    else:
        model[key] = (key, v if v is not None else old[1], newest)


def replay(copy: dict[int, Row], kind: str, row: Row) -> None:
    """Take a change in; each must fit what is there."""
    key = row[0]
    if kind == "+I":
        assert key not in copy
        copy[key] = row
    elif kind == "+U":
        assert key in copy
        copy[key] = row
    else:
        assert copy[key] == row
        if kind == "-D":
            del copy[key]


def test_the_input_is_told_row_by_row(tmp_path: Path) -> None:
    table = table_of(tmp_path, changelog_producer="input")
    kinds = [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]
    told = upsert(table, (2, 1, "a"), (1, 1, "b"), (1, 2, "b"), (3, None, None), kinds=[int(k) for k in kinds])
    assert told == [("-U", (1, 1, "b")), ("+U", (1, 2, "b")), ("+I", (2, 1, "a")), ("-D", (3, None, None))]
    assert sorted(rows(table)) == [(1, 2, "b"), (2, 1, "a")]
