"""Power fails at any moment of statements that define tables: each has its old definition and rows, or its new ones.

``PAIMON_TEST_EXAMPLES`` says how many runs are made.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.operations.replace_table import replace_table, replacement
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, DropColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage import core_tables as core
from tests.storage.lost_power import ENTRIES, KEPT, LOST, MIXED, WatchedDisk, WatchedFileIO

EXAMPLES = int(os.environ.get("PAIMON_TEST_EXAMPLES", "8"))
STEPS = 12

State = tuple[tuple[str, ...], tuple[Any, ...]]
"""The names of a table's columns, and its rows, sorted."""


def state_of(table: Table) -> State:
    """What a table shows."""
    names = tuple(table.schema.names)
    return names, tuple(sorted(core.rows(table), key=repr))


def states_of(catalog: Catalog) -> dict[str, dict[str, State]]:
    """What all tables of all databases show."""
    return {
        database: {name: state_of(catalog.table(Identifier(database, name))) for name in catalog.list_tables(database)}
        for database in catalog.list_databases()
    }


@dataclass
class Definitions:
    """Statements on a catalog, each of which loses power somewhere within and behind it.

    Args:
        root: an empty directory.
        seed: decides everything.
    """

    root: Path
    seed: int
    looked: int = 0
    images: list[Path] = field(default_factory=list)

    def run(self, steps: int) -> None:
        """Make so many statements."""
        self.chance = random.Random(self.seed)
        self.disk = WatchedDisk(self.root / "disk", self.root / "pins")
        with self.disk.watched():
            self.catalog = FileSystemCatalog("c", {"warehouse": str(self.root / "disk")})
            self.catalog.file_io = WatchedFileIO(self.disk)
            self.catalog.create_database("a", {})
            for _ in range(steps):
                self.step()

    def step(self) -> None:
        """Make a statement, and look at what a loss of power within or right behind it would have left."""
        before = states_of(self.catalog)
        statement = self.chance.choices(list(_STATEMENTS), list(_STATEMENTS.values()))[0]
        self.lead = self.chance.choice([1, 2, 3, 5, 9, 15, 25])
        self.disk.moment = self._moment
        statement(self)
        self.disk.moment = lambda: None
        after = states_of(self.catalog)
        within, self.images = self.images, []
        for image in within:
            self._look(image, statement.__name__, before, after)
        self._look(self._image(), statement.__name__, after, after)

    def _moment(self) -> None:
        self.lead -= 1
        if self.lead == 0:
            self.images.append(self._image())

    def _image(self) -> Path:
        self.looked += 1
        how = self.chance.choice([LOST, KEPT, MIXED, MIXED, ENTRIES])
        return self.disk.image(self.root / f"image-{self.looked}-{how}", how, self.chance)

    def _look(
        self, image: Path, name: str, before: dict[str, dict[str, State]], after: dict[str, dict[str, State]]
    ) -> None:
        try:
            check(image, before, after, dropping=name == "drop_database")
        except Exception as error:
            what = f"seed {self.seed}: power lost {'after' if before is after else 'during'} {name}, {image.name}"
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
        shutil.rmtree(image)

    # Statements.

    def _some(self) -> Identifier | None:
        found = [Identifier(d, t) for d in self.catalog.list_databases() for t in self.catalog.list_tables(d)]
        return self.chance.choice(found) if found else None

    def _name(self) -> Identifier:
        return Identifier(self.chance.choice(self.catalog.list_databases()), self.chance.choice("tuv"))

    def create(self) -> None:
        """CREATE TABLE."""
        name = self._name()
        if not self.catalog.table_exists(name):
            keys = self.chance.choice([(), ("id",)])
            columns = [replace(f, type=f.type.as_nullable(False)) if f.name in keys else f for f in core.COLUMNS]
            options = {"bucket": "1"} if keys else {}
            self.catalog.create_table(name, new_schema(columns, primary_keys=keys, options=options))

    def drop(self) -> None:
        """DROP TABLE."""
        name = self._some()
        if name is not None:
            self.catalog.drop_table(name)

    def rename(self) -> None:
        """RENAME TABLE, perhaps into another database."""
        name, target = self._some(), self._name()
        if name is not None and not self.catalog.table_exists(target):
            self.catalog.rename_table(name, target)

    def insert(self) -> None:
        """INSERT."""
        name = self._some()
        if name is not None:
            write(self.catalog.table(name), self.chance.randrange(5))

    def change(self) -> None:
        """ALTER TABLE."""
        name = self._some()
        if name is None:
            return
        table = self.catalog.table(name)
        changes = [AddColumn((f"c{self.chance.randrange(5)}",), IntType())]
        if self.chance.random() < 0.4:
            changes = [DropColumn((table.schema.names[-1],))]  # type: ignore[list-item]
        has_data = table.snapshots.latest_id() is not None
        try:
            self.catalog.alter_table(name, lambda schema: apply_changes(schema, changes, has_data=has_data))
        except InvalidSchemaError:
            return

    def replace(self) -> None:
        """REPLACE TABLE AS SELECT."""
        name = self._some()
        if name is None:
            return
        old = self.catalog.table(name)
        definition = new_schema([DataField(0, "id", IntType()), DataField(1, "n", IntType())])
        table = replace(old, schema=replacement(old, definition))
        with Transaction(table, Operation.REPLACE_TABLE_AS_SELECT) as transaction:
            messages = transaction.staged.own(plan_write(table, Overwrite()).run([core.batch_of(table, [(1, 2)])]))
            replace_table(transaction, old, messages)

    def create_database(self) -> None:
        """CREATE DATABASE."""
        name = self.chance.choice("abc")
        if not self.catalog.database_exists(name):
            self.catalog.create_database(name, {})

    def drop_database(self) -> None:
        """DROP DATABASE CASCADE."""
        names = self.catalog.list_databases()
        if len(names) > 1:
            self.catalog.drop_database(self.chance.choice(names), cascade=True)


def check(
    image: Path, before: dict[str, dict[str, State]], after: dict[str, dict[str, State]], *, dropping: bool
) -> None:
    """Every table is as it was before the statement or as it is behind it, and takes a row."""
    catalog = FileSystemCatalog("c", {"warehouse": str(image)})
    names = set(catalog.list_databases())
    assert set(before) & set(after) <= names <= {*before, *after}, f"databases are {names}"
    for database in sorted(set(before) & set(after) if dropping else names):
        own, then = before.get(database, {}), after.get(database, {})
        tables = set(catalog.list_tables(database))
        assert own.keys() & then.keys() <= tables <= own.keys() | then.keys(), f"tables of {database} are {tables}"
        for name in sorted(tables):
            table = catalog.table(Identifier(database, name))
            found = state_of(table)
            expected = [own.get(name), then.get(name)]
            if own.get(name, ((), None))[1] == ():
                # A table without a snapshot has the columns of its newest schema, those of an unfinished REPLACE, too.
                expected += [(columns[0], ()) for columns in expected if columns is not None]
            assert found in expected, f"{database}.{name} shows {found}"
            write(table, 9)
            shown = state_of(catalog.table(Identifier(database, name)))[1]
            assert {r for r in found[1] if r[0] != 9} < set(shown), f"{database}.{name} shows {shown} after an INSERT"
            problems = repair(catalog.table(Identifier(database, name))).problems
            assert not problems, problems
    if dropping:
        return
    lost = [n for d in before for n in before[d] if d in after and n in after[d] and n not in catalog.list_tables(d)]
    assert not lost, f"tables {lost} are lost"
    both = sum(len(catalog.list_tables(d)) for d in names)
    counts = {sum(map(len, before.values())), sum(map(len, after.values()))}
    assert both in counts, f"there are {both} tables instead of {counts}"


def write(table: Table, key: int) -> None:
    """Insert a row."""
    row = [key, *(None for _ in table.schema.names[1:])]
    commits.append(table, plan_write(table).run([core.batch_of(table, [tuple(row)])]))


_STATEMENTS: dict[Callable[[Definitions], None], int] = {
    Definitions.create: 6,
    Definitions.drop: 3,
    Definitions.rename: 4,
    Definitions.insert: 8,
    Definitions.change: 4,
    Definitions.replace: 3,
    Definitions.create_database: 2,
    Definitions.drop_database: 1,
}


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, derandomize=True, database=None)
def test_a_definition_survives_a_loss_of_power_or_never_was(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Definitions(Path(folder), seed).run(STEPS)
