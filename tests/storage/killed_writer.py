"""Writers that are killed: at each of their file operations, and at any moment by a signal.

Run as a program with a folder and a scenario's name. Each writer is a process of its own, forked off this one; when it
is dead, the table must read as before or as after its statement, and the next write must work.
Ends with 0 if all is well.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage import core_tables as core
from tests.storage.child_processes import in_child
from tests.storage.faulty_io import Died, MortalFileIO

KILLED = 9
Write = Callable[[Table, int], object]
Model = Callable[[set[int], int], set[int]]


class KilledFileIO(MortalFileIO):
    """Ends the process before the operation of number ``at``, as a signal would: nothing is cleaned up."""

    def _step(self, path: str | None = None, data: bytes = b"") -> None:
        try:
            super()._step(path, data)
        except Died:
            os._exit(KILLED)

    def mkdirs(self, path: str) -> None:
        self._step()
        super().mkdirs(path)

    def rename(self, src: str, dst: str) -> bool:
        self._step()
        return super().rename(src, dst)


def ids(table: Table) -> set[int]:
    """The ids in the table, each once."""
    found = [row[0] for row in core.rows(table)]
    assert len(found) == len(set(found)), found
    return set(found)


def row(number: int) -> core.Row:
    return (number, f"v{number}", None)


def each_operation(table: Table, write: Write, model: Model) -> int:
    """Kill a writer at each of its file operations, every other time with half a file left; then others write on."""
    expected = ids(table)
    for at in range(1000):
        number = 500 + at
        dying = core.again(table, file_io=KilledFileIO(at, torn=at % 2 == 1))
        ended = in_child(partial(write, dying, number))
        assert ended in (0, KILLED), ended
        found, after = ids(table), model(expected, number)
        assert found in (expected, after), (at, ended, sorted(found ^ expected))
        assert ended == KILLED or found == after
        core.overwrite(table, row(1), row(10 + at % 2))
        core.insert(table, row(3))
        expected = {1, 3, 10 + at % 2}
        assert ids(table) == expected, at
        if ended == 0:
            return at
    raise AssertionError("the writer never came to an end")


def any_moment(table: Table, rounds: int) -> None:
    """Kill a writer of one row after the other at any moment: what is there are the rows up to one of them."""
    chance = random.Random(7)
    for _ in range(rounds):
        start = len(ids(table))
        child = os.fork()
        if child == 0:
            number = start
            while True:
                core.insert(table, row(number))
                number += 1
        time.sleep(0.05 + chance.random() * 0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        count = len(ids(table))
        assert ids(table) == set(range(count)) and count >= start
        core.insert(table, row(count))
        assert ids(table) == set(range(count + 1))


def append(table: Table, number: int) -> None:
    core.insert(table, row(number))


def append_and_compact(table: Table, number: int) -> None:
    messages = core.written(table, row(number))
    commits.append(table, [*messages, *core.triggered(table, messages)])


def write_over(table: Table, number: int) -> None:
    core.overwrite(table, row(number))


def compact_all(table: Table, number: int) -> None:
    core.compact(table)


def add(before: set[int], number: int) -> set[int]:
    return before | {number}


WRITES: dict[str, tuple[Write, Model, dict[str, str], tuple[str, ...]]] = {
    "append": (append, add, {}, ()),
    "keyed": (append, add, {"write-only": "true"}, ("id",)),
    "triggered": (append_and_compact, add, {"num-sorted-run.compaction-trigger": "2"}, ("id",)),
    "overwrite": (write_over, lambda before, number: {number}, {"write-only": "true"}, ("id",)),
    "compact": (compact_all, lambda before, number: before, {"write-only": "true"}, ("id",)),
    "expiry": (append, add, {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}, ()),
}
"""By scenario: the statement, what it makes of the ids, the table's options and its key."""


def schema_changes(folder: Path) -> None:
    """Kill CREATE, ALTER and RENAME at each of their operations; each is done or not, and can be run again."""
    name, other = Identifier("db", "t"), Identifier("db", "u")
    warehouse = {"warehouse": str(folder)}
    schema = replace(core.make_table(folder / "pattern").schema, id=0)
    catalog = FileSystemCatalog("c", warehouse)
    catalog.create_database("db", {})

    def killed_at(at: int) -> FileSystemCatalog:
        dying = FileSystemCatalog("c", warehouse)
        dying.file_io = KilledFileIO(at)
        return dying

    def until_done(action: Callable[[FileSystemCatalog], object], check: Callable[[], object]) -> None:
        for at in range(100):
            ended = in_child(partial(action, killed_at(at)))
            assert ended in (0, KILLED), ended
            if check():
                return
            assert ended == KILLED
        raise AssertionError("the statement never came to an end")

    def with_column(old: TableSchema) -> TableSchema:
        return replace(old, id=old.id + 1, fields=(*old.fields, DataField(9, "more", IntType())), highest_field_id=9)

    until_done(lambda c: c.create_table(name, schema), lambda: catalog.table_exists(name))
    core.insert(catalog.table(name), row(1))
    until_done(
        lambda c: c.alter_table(name, with_column),
        lambda: ids(catalog.table(name)) == {1} and "more" in catalog.table(name).schema.names,
    )
    until_done(lambda c: c.rename_table(name, other), lambda: catalog.table_exists(other))
    assert not catalog.table_exists(name) and ids(catalog.table(other)) == {1}


def main(folder: Path, scenario: str) -> None:
    if scenario == "ddl":
        schema_changes(folder)
        return
    write, model, options, keys = WRITES["keyed" if scenario == "moments" else scenario]
    table = core.make_table(folder / "t", options, keys=keys)
    for number in range(3):
        core.insert(table, row(number))
    if scenario == "moments":
        any_moment(table, 6)
    else:
        assert each_operation(table, write, model) > 5, "too few operations were seen"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
