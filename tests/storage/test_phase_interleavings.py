"""Two operations of which both are suspended at named phases: the table is as if one had run after the other."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO, local
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.faults.phases import kind_of, phase_of
from tests.selection import in_turns
from tests.storage import commits
from tests.storage.core_tables import again, compacted, insert, make_table, overwrite, rows
from tests.storage.small_tables import on_disk, reachable

Keys = frozenset[int]
QUICK = {
    "commit.min-retry-wait": "1 ms",
    "commit.max-retry-wait": "5 ms",
    "write-only": "true",
    "bucket": "1",
}
_SHOWN = {"snapshot", "hint", "tag", "branch", "schema", "other"}
"""The kinds of files that other parties look at; data files and manifests are nothing before these name them."""


class Phases(LocalFileIO):
    """The file system of one party, which stands still before its change of number ``until``.

    Attributes:
        passed: the phases that it has come to.
        reached: set when it stands still, or is over.
        go: lets it go on.
    """

    def __init__(self, until: int | None = None) -> None:
        super().__init__(durable=False)
        self.until = until
        self.passed: list[str] = []
        self.reached = threading.Event()
        self.go = threading.Event()

    def _come_to(self, operation: str, path: str) -> None:
        if kind_of(path) not in _SHOWN:
            return
        if len(self.passed) == self.until:
            self.reached.set()
            assert self.go.wait(60)
        self.passed.append(phase_of(operation, path))

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        self._come_to("create", path)
        return super().try_create_exclusive(path, data, locked=locked)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._come_to("write", path)
        super().write_bytes(path, data)

    def write_durably(self, path: str, data: bytes) -> None:
        self._come_to("write", path)
        super().write_durably(path, data)

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        self._come_to("replace", path)
        return super().replace_if(path, expected, data, durable=durable)

    def delete(self, path: str) -> bool:
        self._come_to("delete", path)
        return super().delete(path)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self._come_to("delete", path)
        return super().delete_if(path, is_meant, durable=durable)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        found = list(paths)
        self._come_to("delete", "/other")
        return super().delete_many(found, threads=1)


@dataclass(frozen=True)
class Operation:
    """What a party does, and what becomes of the table's keys."""

    run: Callable[[Table], object]
    effect: Callable[[Keys], Keys]


def _expire(table: Table) -> None:
    expire_snapshots(table, Retention(1, 1, 2**62, 10**6))


def _compact(table: Table) -> None:
    commits.compact(table, compacted(table))


OPERATIONS = {
    "insert": Operation(lambda t: insert(t, (10, "i", "x")), lambda keys: keys | {10}),
    "overwrite": Operation(lambda t: overwrite(t, (20, "o", "x")), lambda keys: frozenset({20})),
    "compact": Operation(_compact, lambda keys: keys),
    "expire": Operation(_expire, lambda keys: keys),
    "roll back": Operation(lambda t: rollback_to_snapshot(t, 2), lambda keys: frozenset({1, 2})),
    "fast-forward": Operation(lambda t: fast_forward(t, "dev"), lambda keys: frozenset({1, 2, 50})),
    "tag": Operation(lambda t: create_tag(t, "mine", 2), lambda keys: keys),
    "branch": Operation(lambda t: create_branch(t, "mine", tag="two"), lambda keys: keys),
}


def filled(path: Path) -> Table:
    """A table of four snapshots, the second of which a tag and a branch keep."""
    table = make_table(path, QUICK, keys=["id"])
    for key in range(1, 5):
        insert(table, (key, "v", "x"))
        if key == 2:
            create_tag(again(table), "two")
            create_branch(again(table), "dev", tag="two")
            branch = Table(table.name, table.path, table.file_io, table.schema, "dev")
            insert(branch, (50, "dev", "x"))
    return table


def copied(table: Table, path: Path) -> Table:
    """The same table elsewhere."""
    shutil.copytree(table.path, path)
    return Table(table.name, str(path), table.file_io, table.schema)


def phases_of(operation: Operation, table: Table) -> list[tuple[int, str]]:
    """The phases of an operation that runs alone, each with the number of its first change."""
    alone = Phases()
    operation.run(again(table, file_io=alone))
    numbered = list(enumerate(alone.passed))
    return [numbered[0]] + [later for before, later in itertools.pairwise(numbered) if before[1] != later[1]]


def play(table: Table, first: Operation, at: int, second: Operation, then: int) -> list[bool]:
    """Suspend the first, then the second; let the first end, then the second: whether each was carried out."""
    parties = [Phases(at), Phases(then)]
    done = [False, False]
    failures: list[BaseException] = []

    def run(number: int, operation: Operation) -> None:
        try:
            operation.run(again(table, file_io=parties[number]))
            done[number] = True
        except PaimonError:
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            parties[number].reached.set()

    threads = [threading.Thread(target=run, args=(n, o)) for n, o in enumerate((first, second))]
    for thread, party in zip(threads, parties, strict=True):
        thread.start()
        assert party.reached.wait(60)
    for thread, party in zip(threads, parties, strict=True):
        party.go.set()
        thread.join(60)
        assert not thread.is_alive()
    if failures:
        raise failures[0]
    return done


def outcomes(first: Operation, second: Operation, done: list[bool]) -> Iterator[Keys]:
    """The keys that the table may hold: those of both orders of what was carried out."""
    carried_out = [o for o, was in zip((first, second), done, strict=True) if was]
    for order in itertools.permutations(carried_out):
        keys = frozenset(range(1, 5))
        for operation in order:
            keys = operation.effect(keys)
        yield keys


def check_whole(table: Table) -> None:
    """History is linear, hints are right, no file is missing, tags and branches can be read."""
    directory = again(table).snapshots.directory
    found = directory.versions()
    assert found == list(range(found[0], found[-1] + 1))
    assert directory.hint(LATEST) == found[-1]
    assert (directory.hint(EARLIEST) or 0) <= found[-1] and directory.earliest() in found
    assert reachable(table) <= on_disk(table)
    for tag in again(table).tags.names():
        rows(again(table, {"scan.tag-name": tag}))
    find_orphans(again(table), Search(2**62, LocalExecutor()))


def pairs() -> Iterator[tuple[str, str]]:
    quiet = {"tag", "branch"}
    return ((a, b) for a in OPERATIONS for b in OPERATIONS if not (a in quiet and b in quiet))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return filled(tmp_path_factory.mktemp("model") / "t")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A party may stand still while it holds the lock of a directory: others wait for it only for a moment."""
    monkeypatch.setattr(local, "_LONGEST_HELD", 0.02)


@pytest.mark.parametrize(("first", "second"), list(pairs()))
def test_two_suspended_operations_are_as_if_one_ran_after_the_other(
    model: Table, tmp_path: Path, first: str, second: str
) -> None:
    one, other = OPERATIONS[first], OPERATIONS[second]
    phases = phases_of(one, copied(model, tmp_path / "one"))
    others = phases_of(other, copied(model, tmp_path / "other"))
    # Each meets half of the other's phases; its neighbour meets the other half.
    half = ceil(len(others) / 2)
    met = ((phase, later) for i, phase in enumerate(phases) for later in in_turns(others, i, half))
    for (at, phase), (then, later) in met:
        table = copied(model, tmp_path / f"{at}-{then}")
        done = play(table, one, at, other, then)
        where = f"{first} before '{phase}' ({at}), {second} before '{later}' ({then}): {done}"
        held = frozenset(row[0] for row in rows(table))
        assert held in set(outcomes(one, other, done)), where
        try:
            check_whole(table)
            insert(table, (99, "next", "x"))
            assert frozenset(row[0] for row in rows(table)) == held | {99}
        except (PaimonError, AssertionError) as error:
            raise AssertionError(where) from error
        assert any(done), where
