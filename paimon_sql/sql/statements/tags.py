"""Tags and branches: ``ALTER TABLE .. CREATE TAG`` and similar, ``SHOW TAGS``, and the same for branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp
from sqlglot.generator import Generator

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import Reading, TableName
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.grammar.slots import SLOTS, Slot
from paimon_sql.sql.statements.base import declared

_UNITS = {"DAY": "d", "HOUR": "h", "MINUTE": "min"}


class _Lifetime(Slot):
    """The retention time of a tag, as procedures take it: ``7 d``."""

    what = "a time, in DAYS, HOURS or MINUTES"
    example = "7 DAYS"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        number, unit = parser.whole_number(), "|".join((*_UNITS, *(f"{unit}S" for unit in _UNITS)))
        if number is None or not parser.sees(unit):
            return None
        unit = parser.token.text.upper()
        parser.step()
        return exp.Interval(this=number, unit=exp.Var(this=unit))

    def value(self, node: exp.Expr, reading: Reading) -> str:
        return f"{node.this.name} {_UNITS[node.args['unit'].name.removesuffix('S')]}"

    def sql(self, generator: Generator, node: exp.Expr) -> str:
        return f"{node.this.name} {node.args['unit'].name}"


SLOTS["lifetime"] = _Lifetime()
_ALTER = "ALTER TABLE {table} "


@declared(
    _ALTER + "<mode: CREATE OR REPLACE | CREATE | REPLACE> TAG! [<if_not_exists: IF NOT EXISTS>] {tag}"
    " [AS OF VERSION {snapshot:number}] [RETAIN {time_retained:lifetime}]"
)
@dataclass(frozen=True)
class CreateTag(Statement):
    """CREATE TAG, REPLACE TAG or CREATE OR REPLACE TAG.

    Attributes:
        snapshot: the snapshot to tag; by default the latest one.
        time_retained: its retention time; by default forever.
        mode: CREATE refuses a tag that exists, REPLACE one that does not.
        if_not_exists: with CREATE, leave an existing tag unchanged.
    """

    table: TableName
    tag: str
    mode: Literal["CREATE", "REPLACE", "CREATE OR REPLACE"] = "CREATE"
    snapshot: int | None = None
    time_retained: str | None = None
    if_not_exists: bool = False


@declared(_ALTER + "DELETE|DROP TAG! [<if_exists: IF EXISTS>] {tag}")
@dataclass(frozen=True)
class DeleteTag(Statement):
    """DELETE TAG; ``tag`` may be several names, separated by commas."""

    table: TableName
    tag: str
    if_exists: bool = False


@declared(_ALTER + "RENAME TAG! {tag} TO {target:new_name}")
@dataclass(frozen=True)
class RenameTag(Statement):
    """RENAME TAG .. TO."""

    table: TableName
    tag: str
    target: str


@declared("SHOW TAGS [FROM|IN] {table}!")
@dataclass(frozen=True)
class ShowTags(Statement):
    """SHOW TAGS: one column ``tag``."""

    table: TableName


@declared(
    _ALTER + "CREATE BRANCH! [<if_not_exists: IF NOT EXISTS>] {branch}"
    " [AS OF TAG {tag} | AS OF VERSION {snapshot:number} | AS OF VERSION {tag}]",
    refusals=dict.fromkeys(
        ("RETAIN", "WITH SNAPSHOT"),
        ("A branch has no time to live", "Delete it when it is no longer needed."),
    ),
)
@dataclass(frozen=True)
class CreateBranch(Statement):
    """CREATE BRANCH, from a tag or snapshot, or empty."""

    table: TableName
    branch: str
    tag: str | None = None
    if_not_exists: bool = False
    snapshot: int | None = None


@declared(_ALTER + "DELETE|DROP BRANCH! [<if_exists: IF EXISTS>] {branch}")
@dataclass(frozen=True)
class DeleteBranch(Statement):
    """DELETE BRANCH; ``branch`` may be several names, separated by commas."""

    table: TableName
    branch: str
    if_exists: bool = False


@declared(_ALTER + "RENAME BRANCH! {branch} TO {target:new_name}")
@dataclass(frozen=True)
class RenameBranch(Statement):
    """RENAME BRANCH .. TO."""

    table: TableName
    branch: str
    target: str


@declared("SHOW BRANCHES [FROM|IN] {table}!")
@dataclass(frozen=True)
class ShowBranches(Statement):
    """SHOW BRANCHES: one column ``branch``."""

    table: TableName


@reads("ALTER", "TABLE")
def branch_replaced(parser: PaimonParser) -> None:
    """Refuse to replace a branch."""
    parser.accept("ALTER", "TABLE")
    table, first = parser.table_name(), parser.token
    if table is not None and (parser.accept("REPLACE", "BRANCH") or parser.accept("CREATE", "OR", "REPLACE", "BRANCH")):
        raise parser.refusal("A branch cannot be replaced", first, "DROP BRANCH and then CREATE BRANCH.", table)
