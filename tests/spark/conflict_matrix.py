"""Statements that run against each other: one stands still before it publishes while another runs from end to end."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.storage.file_io import LocalFileIO

Row = tuple[int, str, str]
Rows = frozenset[Row]
State = Rows | None
"""What the table holds; None if there is none of its name."""

FIRST: Rows = frozenset({(1, "a", "x"), (2, "b", "x")})
SECOND: Rows = FIRST | {(3, "c", "y")}
START: Rows = SECOND | {(4, "d", "y")}
DEV: Rows = SECOND | {(50, "dev", "y")}
"""The rows of the branch ``dev``, which comes from the second snapshot of three."""

_PUBLISHED = re.compile(r"/((snapshot|tag|branch|schema)(/|$)|REWIND$)")


@dataclass(frozen=True)
class Statement:
    """A statement, and what it does to the table's rows.

    Attributes:
        name: its name in the matrix.
        text: its SQL; ``{n}`` tells two of a kind apart, ``{t}`` is the table.
        effect: the rows behind it.
    """

    name: str
    text: str
    effect: Callable[[State, int], State]


def _same(rows: State, n: int) -> State:
    return rows


def _changed(change: Callable[[Row, int], Row | None]) -> Callable[[State, int], State]:
    def effect(rows: State, n: int) -> State:
        found = {change(row, n) for row in rows or ()}
        return frozenset(row for row in found if row is not None)

    return effect


def _plus(make: Callable[[int], Row]) -> Callable[[State, int], State]:
    return lambda rows, n: (rows or frozenset()) | {make(n)}


_UPDATED = _changed(lambda row, n: (2, f"u{n}", "x") if row[0] == 2 else row)
_MERGED = _changed(lambda row, n: (3, f"m{n}", row[2]) if row[0] == 3 else row)

_STATEMENTS = (
    Statement("INSERT", "INSERT INTO {t} VALUES (1{n}, 'i', 'x')", _plus(lambda n: (10 + n, "i", "x"))),
    Statement(
        "INSERT OVERWRITE",
        "INSERT OVERWRITE {t} VALUES (2{n}, 'o', 'x')",
        lambda rows, n: frozenset({(20 + n, "o", "x")}),
    ),
    Statement(
        "INSERT OVERWRITE a partition",
        "INSERT OVERWRITE {t} PARTITION (p = 'y') VALUES (3{n}, 'o')",
        lambda rows, n: frozenset(row for row in rows or () if row[2] != "y") | {(30 + n, "o", "y")},
    ),
    Statement("UPDATE", "UPDATE {t} SET v = 'u{n}' WHERE k = 2", _UPDATED),
    Statement("DELETE", "DELETE FROM {t} WHERE k = 1", _changed(lambda row, n: None if row[0] == 1 else row)),
    Statement(
        "MERGE",
        "MERGE INTO {t} USING (SELECT 3 k) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET v = 'm{n}'",
        _MERGED,
    ),
    Statement(
        "COPY INTO",
        "COPY INTO {t} FROM '{folder}/load{n}' FILE_FORMAT = (TYPE = CSV)",
        _plus(lambda n: (40 + n, "l", "x")),
    ),
    Statement("TRUNCATE", "TRUNCATE TABLE {t}", lambda rows, n: frozenset()),
    Statement(
        "DROP PARTITION",
        "ALTER TABLE {t} DROP PARTITION (p = 'x')",
        _changed(lambda row, n: None if row[2] == "x" else row),
    ),
    Statement(
        "REPLACE TABLE AS SELECT",
        "REPLACE TABLE {t} PARTITIONED BY (p) AS SELECT 6{n} k, 'r' v, 'x' p",
        lambda rows, n: frozenset({(60 + n, "r", "x")}),
    ),
    Statement("compact", "CALL sys.compact(table => '{t}', compact_strategy => 'full')", _same),
    Statement("compact_manifest", "CALL sys.compact_manifest(table => '{t}')", _same),
    Statement("ANALYZE", "ANALYZE TABLE {t} COMPUTE STATISTICS", _same),
    Statement("expire_snapshots", "CALL sys.expire_snapshots(table => '{t}', retain_max => 1, retain_min => 1)", _same),
    Statement("rollback", "CALL sys.rollback(table => '{t}', version => '1')", lambda rows, n: FIRST),
    Statement("fast_forward", "CALL sys.fast_forward(table => '{t}', branch => 'dev')", lambda rows, n: DEV),
    Statement("create_tag", "CALL sys.create_tag(table => '{t}', tag => 'g{n}')", _same),
    Statement("delete_tag", "CALL sys.delete_tag(table => '{t}', tag => 'one')", _same),
    Statement("create_branch", "CALL sys.create_branch(table => '{t}', branch => 'b{n}', tag => 'one')", _same),
    Statement("remove_orphan_files", "CALL sys.remove_orphan_files(table => '{t}')", _same),
    Statement("purge_files", "CALL sys.purge_files(table => '{t}')", lambda rows, n: frozenset()),
    Statement("ALTER TABLE", "ALTER TABLE {t} ADD COLUMN z{n} INT", _same),
    Statement("DROP TABLE", "DROP TABLE {t}", lambda rows, n: None),
    Statement("RENAME TABLE", "ALTER TABLE {t} RENAME TO {t}_renamed", lambda rows, n: None),
)
STATEMENTS = {statement.name: statement for statement in _STATEMENTS}

GONE = ("DROP TABLE", "RENAME TABLE")
ANEW = ("REPLACE TABLE AS SELECT", *GONE)
REFUSED: dict[str, tuple[str, ...]] = {
    "INSERT": ANEW,
    "INSERT OVERWRITE": ANEW,
    "INSERT OVERWRITE a partition": ANEW,
    "UPDATE": ANEW,
    "DELETE": ANEW,
    "MERGE": ANEW,
    "COPY INTO": ANEW,
    "TRUNCATE": ANEW,
    "DROP PARTITION": ANEW,
    "REPLACE TABLE AS SELECT": ("ALTER TABLE", *ANEW),
    "compact": (
        *("INSERT OVERWRITE", "INSERT OVERWRITE a partition", "MERGE", "TRUNCATE", "compact"),
        *("rollback", "fast_forward", "purge_files", *ANEW),
    ),
    "compact_manifest": ANEW,
    "ANALYZE": ANEW,
    "rollback": ("purge_files", *GONE),
    "fast_forward": ("purge_files", *GONE),
    "create_tag": ("rollback", "fast_forward", "purge_files", *GONE),
    "create_branch": ("purge_files", *GONE),
    "purge_files": ANEW,
    "ALTER TABLE": GONE,
    "DROP TABLE": GONE,
    "RENAME TABLE": GONE,
}
"""For each statement those others that, if they run before it publishes, make it be refused."""

REFUSED_OVER_KEYS: dict[str, tuple[str, ...]] = {
    "INSERT": ("rollback",),
    "compact": ("INSERT OVERWRITE", "compact", "rollback"),
}
"""The same over tables with a primary key, where others than over append tables: only what was looked at."""

UNKNOWN: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("TRUNCATE", "DROP PARTITION", "compact_manifest", "ANALYZE", "purge_files"), ("purge_files",)
)
"""Statements that bring no files cannot be told from others once nothing but one later snapshot is left."""


class Outcome(Enum):
    """What became of the first statement of a pair, which stood still while the second ran."""

    THEN = "then"
    """The table is as if the second had run first and then the first."""
    REFUSED = "refused"
    """It is refused with an error; the table is as the second left it."""
    UNKNOWN = "unknown"
    """It says that its outcome is unknown; the table is as the second left it."""


class RefusedError(Exception):
    """A statement ended with an error; the message is its first line."""


class World:
    """A table to play each pair with, copied from a model that is made once.

    Args:
        spark: the session; the current database is used.
        folder: for files to be loaded.
        keyed: whether the table has a primary key.
    """

    def __init__(self, spark: SparkSession, folder: Path, *, keyed: bool) -> None:
        self.spark = spark
        self.rival = spark.newSession()
        database = spark.catalog.currentDatabase()
        self.rival.sql(f"USE paimon.{database}")
        warehouse = spark.conf.get("spark.sql.catalog.paimon.warehouse") or ""
        self.directory = Path(warehouse.removeprefix("file:")) / f"{database}.db"
        self.folder = folder
        self._number = 0
        for n, name in ((1, "load1"), (2, "load2")):
            (folder / name).mkdir()
            (folder / name / "a.csv").write_text(f"4{n},l,x\n")
        self._make(keyed=keyed)

    def _make(self, *, keyed: bool) -> None:
        options = "'write-only' = 'true', 'compaction.min.file-num' = '2', 'commit.min-retry-wait' = '1 ms'"
        key = ", PRIMARY KEY (k, p) NOT ENFORCED" if keyed else ""
        bucket = ", 'bucket' = '1'" if keyed else ""
        for text in (
            f"CREATE TABLE model (k INT, v STRING, p STRING{key}) PARTITIONED BY (p) WITH ({options}{bucket})",
            "INSERT INTO model VALUES (1, 'a', 'x'), (2, 'b', 'x')",
            "CALL sys.create_tag(table => 'model', tag => 'one')",
            "INSERT INTO model VALUES (3, 'c', 'y')",
            "CALL sys.create_tag(table => 'model', tag => 'two')",
            "CALL sys.create_branch(table => 'model', branch => 'dev', tag => 'two')",
            "INSERT INTO `model$branch_dev` VALUES (50, 'dev', 'y')",
            "INSERT INTO model VALUES (4, 'd', 'y')",
        ):
            self.spark.sql(text)

    def table(self) -> str:
        """A new table of the model's content."""
        self._number += 1
        name = f"t{self._number}"
        shutil.copytree(self.directory / "model", self.directory / name)
        return name

    def run(self, session: SparkSession, statement: Statement, table: str, n: int) -> None:
        """Run a statement.

        Raises:
            RefusedError: it fails.
        """
        try:
            session.sql(statement.text.format(t=table, n=n, folder=self.folder)).collect()
        except PySparkException as error:
            raise RefusedError(str(error).splitlines()[0]) from None

    def rows(self, table: str) -> State:
        """What the table holds, each row read once; None if there is none."""
        if not (self.directory / table / "schema").is_dir():
            return None
        found = [tuple(row) for row in self.rival.sql(f"SELECT k, v, p FROM {table} WHERE v <> ''").collect()]
        assert len(found) == len(set(found))
        return frozenset(found)


@contextmanager
def before_it_publishes(table: str, meanwhile: Callable[[], object], at: int = 1) -> Iterator[list[str]]:
    """Let something happen before a statement's first change that others see: of a snapshot, hint, tag, schema or mark.

    Args:
        table: its directory's name.
        meanwhile: what happens.
        at: before which of these changes.
    """
    left, where = [at], list[str]()

    def wrap(name: str) -> Callable[..., Any]:
        original = getattr(LocalFileIO, name)

        def late(self: LocalFileIO, path: str, *given: Any, **named: Any) -> Any:
            if left[0] > 0 and f"/{table}/" in f"{path}/" and (name == "rename" or _PUBLISHED.search(path)):
                left[0] -= 1
                if not left[0]:
                    where.append(f"{name} {path.rpartition(table)[2]}")
                    meanwhile()
            return original(self, path, *given, **named)

        return late

    changing = ("try_create_exclusive", "write_bytes", "write_durably", "replace_if", "delete", "delete_dir", "rename")
    with pytest.MonkeyPatch.context() as patch:
        for name in changing:
            patch.setattr(LocalFileIO, name, wrap(name))
        yield where


def matrix() -> list[str]:
    """The matrix as a table of Markdown: a row for the statement that stands still, a column for the other."""
    names = list(STATEMENTS)
    signs = {Outcome.THEN: "·", Outcome.REFUSED: "R", Outcome.UNKNOWN: "?"}
    lines = [f"| | {' | '.join(str(n) for n in range(1, len(names) + 1))} |", "|---" * (len(names) + 1) + "|"]
    for number, first in enumerate(names, 1):
        cells = [signs[expected(first, second)] for second in names]
        lines.append(f"| {number} `{first}` | {' | '.join(cells)} |")
    return lines


def expected(first: str, second: str, refused: Mapping[str, tuple[str, ...]] = REFUSED) -> Outcome:
    """What becomes of a statement that stands still while another runs."""
    if second in UNKNOWN.get(first, ()):
        return Outcome.UNKNOWN
    return Outcome.REFUSED if second in refused.get(first, ()) else Outcome.THEN


def play(world: World, first: Statement, second: Statement) -> Outcome:
    """Run the second statement before the first one's first change that others see.

    Raises:
        AssertionError: the second fails, or the table is in no state that an outcome allows.
    """
    table = world.table()
    try:
        with before_it_publishes(table, lambda: world.run(world.rival, second, table, 2)) as where:
            world.run(world.spark, first, table, 1)
        outcome = Outcome.THEN
    except RefusedError as error:
        outcome = Outcome.UNKNOWN if "could not be found out" in str(error) else Outcome.REFUSED
    if not where:
        world.run(world.rival, second, table, 2)
    middle = second.effect(START, 2)
    expected = first.effect(middle, 1) if outcome is Outcome.THEN and middle is not None else middle
    found = world.rows(table)
    assert found == expected, (first.name, second.name, outcome, where, found, expected)
    return outcome
