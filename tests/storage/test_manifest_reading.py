"""Manifests read by executors: every plan is that of the driver, file for file and figure for figure.

``PAIMON_TEST_OPERATIONS`` says how many things are done to each table before, ``PAIMON_TEST_SEED`` by which chance.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, DataType, IntType, string_type
from paimon_sql.format.statistics.column_statistics import EMPTY_STATS
from paimon_sql.storage.data_files.live_files import live_files, manifests_of
from paimon_sql.storage.data_files.manifest_bounds import known_bounds
from paimon_sql.storage.execution.arrow_streams import unpacked
from paimon_sql.storage.execution.task_executor import Executor, running
from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, Or, Predicate, StartsWith
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.manifests import ManifestCache, manifest_cache
from paimon_sql.storage.table import distributed_manifests
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import WriteState
from tests.storage import commits
from tests.storage import core_tables as core
from tests.storage.maintenance_world import World
from tests.storage.small_tables import insert

SEED = int(os.environ.get("PAIMON_TEST_SEED", "7"))
STEPS = int(os.environ.get("PAIMON_TEST_OPERATIONS", "25"))
T = TypeVar("T")
R = TypeVar("R")


class Elsewhere(Executor):
    """Tasks and answers travel as they do to another process.

    Attributes:
        jobs: the number of tasks of each job, and what it is called.
    """

    def __init__(self) -> None:
        self.jobs: list[tuple[int, str]] = []

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        assert self.work is not None and self.work in running()
        self.jobs.append((len(tasks), self.work.what))
        for travelled in [pickle.dumps((function, task)) for task in tasks]:
            run, task = pickle.loads(travelled)
            yield pickle.loads(pickle.dumps(run(task)))


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> ManifestCache:
    """A cache of manifests of the test's own, and executors that read whatever it lacks, a manifest a task."""
    monkeypatch.setattr(manifest_cache, "part", None)
    monkeypatch.setattr(known_bounds, "part", None)
    own = manifest_cache()
    monkeypatch.setattr(distributed_manifests, "MANY_BYTES", 1)
    monkeypatch.setattr(distributed_manifests, "_TASK_BYTES", 1)
    return own


def forget(cache: ManifestCache, capacity: int = 1 << 29) -> None:
    """Empty the cache, which then has room for so many bytes, and forget the bounds of manifests."""
    cache.clear()
    cache.capacity = capacity
    known_bounds().clear()


def condition(chance: random.Random, depth: int = 2) -> Predicate:
    """Something asked of the columns of the world's tables."""
    if depth and chance.random() < 0.5:
        parts = tuple(condition(chance, depth - 1) for _ in range(chance.randint(1, 3)))
        return chance.choice([And, Or])(parts)
    column = chance.choice(["id", "v", "p"])
    kind = pa.int32() if column == "id" else pa.string()
    some = {"id": [*range(-1, 8)], "v": [f"v{n}" for n in range(40)], "p": ["w", "x", "y"]}[column]
    shape = chance.choice(["compare", "compare", "in", "null", "starts"])
    if shape == "null":
        return IsNull(column, chance.random() < 0.5)
    if shape == "in":
        return In(column, pa.array(chance.sample(some, 2), kind))
    if shape == "starts" and column != "id":
        return StartsWith(column, str(chance.choice(some)))
    return Comparison(column, chance.choice(["=", "!=", "<", "<=", ">", ">="]), pa.scalar(chance.choice(some), kind))


@pytest.mark.parametrize(
    "kind", ["append_vectors", "keyed", "keyed_vectors", "keyed_partitions", "dynamic", "evolving_vectors"]
)
def test_every_plan_is_that_of_the_driver(tmp_path: Path, cache: ManifestCache, kind: str) -> None:
    world, chance = World.of(tmp_path / "t", kind, SEED), random.Random(SEED)
    for _ in range(STEPS):
        world.step()
    table = core.again(world.table)
    versions = sorted(table.snapshots.directory.versions())
    for number in {*chance.sample(versions, min(len(versions), 5)), versions[-1]}:
        snapshot = table.snapshots.get(number)
        every = live_files(table, snapshot).partitions
        for asked in (None, *(condition(chance) for _ in range(6))):
            within = chance.choice([None, chance.sample(every, len(every) // 2)])
            forget(cache)
            expected = live_files(table, snapshot, asked, within)
            for capacity in (0, 1 << 29):
                forget(cache, capacity)
                executor = Elsewhere()
                found = live_files(replace(table, executor=executor), snapshot, asked, within)
                assert found.entries.equals(expected.entries), asked
                assert found.metrics == expected.metrics
                assert bool(executor.jobs) == bool(found.metrics.manifests_read)
                # The plan before left bounds by which this one may skip manifests.
                again = live_files(replace(table, executor=Elsewhere()), snapshot, asked, within)
                assert again.entries.equals(expected.entries), asked
                assert again.metrics.manifests_read <= expected.metrics.manifests_read
                assert replace(again.metrics, manifests_read=expected.metrics.manifests_read) == expected.metrics


def test_a_whole_plan_that_has_room_is_made_by_executors_once(tmp_path: Path, cache: ManifestCache) -> None:
    table = core.make_table(tmp_path / "t")
    for i in range(5):
        snapshot = core.insert(table, (i, "v", None))
    wanted = Comparison("id", "=", pa.scalar(3, pa.int32()))
    executor = Elsewhere()
    spread = replace(table, executor=executor)
    forget(cache)
    assert len(live_files(spread, snapshot).entries) == 5
    assert executor.jobs == [(5, "plan of db.t")]
    assert len(live_files(spread, snapshot, wanted).entries) == 1
    core.insert(table, (5, "v", None))
    assert len(live_files(spread, table.snapshots.latest()).entries) == 6
    assert len(executor.jobs) == 1
    assert running() == []


def test_only_what_is_wanted_comes_back_and_nothing_stays(
    tmp_path: Path, cache: ManifestCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = core.make_table(tmp_path / "t")
    for i in range(5):
        snapshot = core.insert(table, (i, "v", None))
    returned: list[int] = []

    def noted(data: bytes) -> pa.Table:
        if unpacked(data).schema.equals(MANIFEST_SCHEMA):
            returned.append(len(unpacked(data)))
        return unpacked(data)

    monkeypatch.setattr(distributed_manifests, "unpacked", noted)
    executor = Elsewhere()
    forget(cache)
    for _ in range(2):
        spread = replace(table, executor=executor)
        assert len(live_files(spread, snapshot, Comparison("id", "=", pa.scalar(3, pa.int32()))).entries) == 1
    assert len(executor.jobs) == 2
    assert sum(returned) == 2
    assert cache.get(table.manifests.path(manifests_of(table, snapshot)[0].file_name)) is None


def test_a_small_table_is_read_here(tmp_path: Path, cache: ManifestCache, monkeypatch: pytest.MonkeyPatch) -> None:
    table = core.make_table(tmp_path / "t")
    monkeypatch.setattr(distributed_manifests, "MANY_BYTES", 3 * (300 + 50 * len(table.schema.fields)))
    executor = Elsewhere()
    for jobs in (0, 0, 1):
        snapshot = core.insert(table, (1, "v", None))
        forget(cache)
        live_files(replace(table, executor=executor), snapshot)
        assert len(executor.jobs) == jobs


@pytest.mark.parametrize("capacity", [0, 1 << 29])
def test_a_missing_or_corrupt_manifest_is_told_as_ever(tmp_path: Path, cache: ManifestCache, capacity: int) -> None:
    table = core.make_table(tmp_path / "t")
    for i in range(3):
        snapshot = core.insert(table, (i, "v", None))
    path = Path(table.manifests.path(manifests_of(table, snapshot)[1].file_name))
    for damage, kind in ((lambda: path.write_bytes(b"no manifest"), CorruptFileError), (path.unlink, MissingFileError)):
        damage()
        told = []
        for executor in (None, Elsewhere()):
            forget(cache, capacity)
            with pytest.raises(kind) as error:
                live_files(replace(table, executor=executor), snapshot, IsNull("v"))
            told.append(str(error.value))
        assert told[0] == told[1]


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_a_file_whose_delete_has_no_statistics_stays_away(
    tmp_path: Path, cache: ManifestCache, keys: tuple[str, ...]
) -> None:
    table = core.make_table(tmp_path / "t", keys=keys)
    core.insert(table, (1, "a", None))
    core.insert(table, (2, "b", None))
    gone = core.live(table)[0]
    bare = replace(gone.file, key_stats=EMPTY_STATS, value_stats=EMPTY_STATS, value_stats_cols=())
    commits.overwrite(core.again(table), [], lambda _: [replace(gone, kind=FileKind.DELETE, file=bare)])
    snapshot = core.again(table).snapshots.latest()
    found = []
    for value in (1, 2):
        forget(cache, 0)
        spread = replace(core.again(table), executor=Elsewhere())
        found += live_files(spread, snapshot, Comparison("id", "=", pa.scalar(value, pa.int32()))).entries.to_pylist()
    assert [e["file_name"] for e in found] == [e.file.file_name for e in core.live(table)]


def test_a_table_travels_without_its_executor(tmp_path: Path) -> None:
    table = replace(core.make_table(tmp_path / "t"), executor=Elsewhere())
    assert pickle.loads(pickle.dumps(table)).executor is None
    assert table.with_options({"branch": "main"}).executor is table.executor


@pytest.mark.parametrize("partitions", [("p",), ("p", "q")])
def test_files_of_partitions_are_read_from_their_manifests(
    tmp_path: Path, cache: ManifestCache, partitions: tuple[str, ...]
) -> None:
    columns = [*core.COLUMNS, DataField(3, "q", IntType())]
    table = core.make_table(tmp_path / "t", columns=columns, partitions=partitions)
    values = [("a", 1), ("b", 2), (None, 3), ("c", None), ("", 1), (None, None), ("a", 2), ("d", 4)]
    for i, (p, q) in enumerate(values):
        snapshot = core.insert(table, (i, "v", p, q))
    whole = live_files(table, snapshot)
    for count in range(len(whole.partitions) + 1):
        for wanted in combinations(whole.partitions, count):
            found = live_files(table, snapshot, partitions=wanted)
            assert found.entries.equals(
                whole.entries.filter(pc.is_in(whole.entries["partition"], pa.array(wanted, pa.binary())))
            )
            if count == 1:
                assert found.metrics.manifests_read <= 2


def test_a_small_write_reads_the_manifests_of_its_partitions(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t", {"bucket": "2"}, keys=("id", "p"), partitions=("p",))
    for i in range(40):
        core.insert(table, (i % 3, "v", f"p{i % 20:02}"))
    latest = table.snapshots.latest()
    state, read = WriteState(table, None, latest), []

    def noted(partitions: Collection[bytes] | None) -> pa.Table:
        read.append(partitions)
        return WriteState.files_of(state, partitions)

    whole = WriteState(table, None, latest).sequences
    expected = dict(whole)
    assert len(expected) >= 20
    object.__setattr__(state, "files_of", noted)
    assert all(state.sequences[target] == number for target, number in list(expected.items())[:3])
    missing = next(partition for partition, _ in expected if b"p00" in partition).replace(b"p00", b"p99")
    assert state.sequences.get((missing, 0)) is None
    assert all(partitions is not None for partitions in read)
    assert {target: state.sequences[target] for target in expected} == expected
    assert read.count(None) == 1 and len(read) <= 9
    assert pickle.loads(pickle.dumps(WriteState(table, None, latest).sequences)) == expected


@pytest.mark.parametrize("bytes_of_many", [1, 1 << 40])
def test_later_plans_read_only_manifests_whose_bounds_allow_a_match(
    tmp_path: Path, cache: ManifestCache, monkeypatch: pytest.MonkeyPatch, bytes_of_many: int
) -> None:
    monkeypatch.setattr(distributed_manifests, "MANY_BYTES", bytes_of_many)
    table = core.make_table(tmp_path / "t")
    for i in range(12):
        snapshot = core.insert(table, (i, f"v{i:02}", None))
    spread = replace(table, executor=Elsewhere())
    read = []
    for i in (3, 7, 20):
        found = live_files(spread, snapshot, Comparison("id", "=", pa.scalar(i, pa.int32())))
        read.append((found.metrics.manifests_read, len(found.entries)))
    assert read == [(12, 1), (1, 1), (0, 0)]
    snapshot = core.insert(table, (20, "w", None))
    both = And((Comparison("id", "=", pa.scalar(20, pa.int32())), Comparison("v", "=", pa.scalar("w"))))
    for manifests in (1, 1):
        found = live_files(spread, snapshot, both)
        assert (found.metrics.manifests_read, len(found.entries)) == (manifests, 1)
    nothing = live_files(spread, snapshot, And((both, Comparison("v", "<", pa.scalar("a")))))
    assert len(nothing.entries) == 0


def test_a_column_of_another_type_has_bounds_of_its_own(tmp_path: Path, cache: ManifestCache) -> None:
    kinds: list[tuple[DataType, Sequence[object]]] = [(IntType(), range(5)), (string_type(), "abcde")]
    for kind, values in kinds:
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        schema = new_schema([DataField(0, "id", kind)], options={"write-only": "true"})
        table = Table("t", str(tmp_path / "t"), LocalFileIO(), schema)
        assert table.schemas.try_add(schema)
        for value in values:
            snapshot = insert(table, (value,))
        asked = Comparison("id", "=", pa.scalar(values[2]).cast(arrow_type(kind)))
        for _ in range(2):
            assert len(live_files(table, snapshot, asked).entries) == 1
