"""Operations on metadata that strangers have written: a copy of the table, of which one file says something else."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.manifest import read_manifest, write_manifest
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.operations import operations
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.faults.actions.base import Action
from tests.faults.actions.job import ONE, Job, write
from tests.faults.model import Row
from tests.faults.reading import read_rows

_DAY = 86_400_000
_SECRET = b"what stands outside of the table"
_VALUES: tuple[Any, ...] = (None, -1, 0, 2**31, 2**63 - 1, 10**30, "", "a\x00b", "..", [], {"a": 1}, True, 0.5)


def _names(outside: Path) -> list[str]:
    return [
        str(outside),
        f"../{outside.name}",
        f"../../{outside.name}",
        f"bucket-0/../../{outside.name}",
        f"file:{outside}",
    ]


def _amend_json(file: Path, outside: Path, chance: random.Random) -> None:
    stored = json.loads(file.read_bytes())
    member = chance.choice(sorted(stored))
    stored[member] = chance.choice([*_VALUES, *_names(outside)])
    file.write_text(json.dumps(stored))


def _amend_manifest(file: Path, outside: Path, chance: random.Random) -> None:
    rows = read_manifest(file.read_bytes(), str(file))
    column = chance.choice([n for n in rows.column_names if pa.types.is_string(rows.schema.field(n).type)])
    named = pa.array([chance.choice(_names(outside))] * rows.num_rows, pa.string())
    changed = rows.set_column(rows.column_names.index(column), rows.schema.field(column), named)
    file.write_bytes(write_manifest(changed))


def _amend_bytes(file: Path, outside: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 8)):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    file.write_bytes(data[: chance.randint(0, len(data))] if chance.random() < 0.2 else data)


def _insert(job: Job, table: Table) -> None:
    messages, task = write(table, job.rows())
    with Transaction(table) as transaction:
        transaction.require(*task.validations(messages))
        operations.append(transaction, messages)


def _compact(job: Job, table: Table) -> None:
    messages = plan_table(table, full=True).run(ONE)
    with Transaction(table) as transaction:
        operations.compact(transaction, messages)


def _read(job: Job, table: Table) -> None:
    latest = table.snapshots.latest()
    if latest is not None and set(Row._fields) <= {*table.at_schema(latest.schema_id).schema.names}:
        read_rows(table, latest)


def _roll_back(job: Job, table: Table) -> None:
    rollback_to_snapshot(table, min(table.snapshots.directory.versions(), default=1))


_WORKS: dict[str, Callable[[Job, Table], object]] = {
    "read": _read,
    "insert": _insert,
    "compact": _compact,
    "expire": lambda job, table: expire_snapshots(table, Retention(1, 1, 0, 100)),
    "orphans": lambda job, table: remove_orphans(find_orphans(table, Search(current_millis() + _DAY, ONE))),
    "repair": lambda job, table: repair(table),
    "roll back": _roll_back,
}


class Strangers(Action):
    """One file of a copy's metadata says something else: all works or is refused, and nothing outside is touched."""

    name, weight = "hostile metadata", 1.5

    def run(self, job: Job) -> None:
        folder = job.path.parent / f"hostile-{job.operation.token}"
        copy, outside = folder / "t", folder / "outside"
        try:
            _copy(job.path, copy)
            outside.write_bytes(_SECRET)
            done = [_amended(copy, outside, job.chance)]
            for name in job.chance.sample(sorted(_WORKS), 4):
                done.append(name)
                with suppress(PaimonError):
                    schema = SchemaManager(LocalFileIO(), str(copy)).latest()
                    if schema is not None:
                        _WORKS[name](job, Table("db.hostile", str(copy), LocalFileIO(), schema))
                assert outside.read_bytes() == _SECRET, f"a file outside was changed: {done}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    """Copy the files of a table; those that go meanwhile are left out."""
    target.mkdir(parents=True)
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in names:
            with suppress(FileNotFoundError):
                shutil.copyfile(Path(folder, name), there / name)


def _amended(table: Path, outside: Path, chance: random.Random) -> str:
    """Let a file of a table's metadata say something else: what was done."""
    jsons = [p for pattern in ("snapshot/snapshot-*", "schema/schema-*", "tag/tag-*") for p in table.glob(pattern)]
    avros = [p for p in table.glob("manifest/manifest-*") if not p.name.startswith("manifest-list")]
    ways: list[tuple[Callable[[Path, Path, random.Random], None], list[Path]]] = [
        (_amend_json, jsons),
        (_amend_manifest, avros),
        (_amend_bytes, [*jsons, *table.glob("manifest/*"), *table.glob("index/*"), *table.glob("snapshot/*")]),
    ]
    amend, files = chance.choice([(way, found) for way, found in ways if found] or [(_amend_bytes, [])])
    if not files:
        return "nothing"
    file = chance.choice(sorted(files))
    with suppress(PaimonError, ValueError):  # torn by a loss of power, or by the first one of us
        amend(file, outside, chance)
    return f"{amend.__name__} {file.name}"
