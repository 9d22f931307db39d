"""Tags and branches: ``ALTER TABLE .. CREATE TAG`` and similar, ``SHOW TAGS``, and the same for branches."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from paimon_sql.sql.carried_statements import OfTable
from paimon_sql.sql.context import Reading
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.grammar import SLOTS, Slot
from paimon_sql.sql.statements.base import declared

_UNITS = {"DAY": "d", "HOUR": "h", "MINUTE": "min"}


def _lifetime(parser: PaimonParser) -> exp.Expr | None:
    number, unit = parser.whole_number(), "|".join((*_UNITS, *(f"{unit}S" for unit in _UNITS)))
    if number is None or not parser.sees(unit):
        return None
    unit = parser.token.text.upper()
    parser.step()
    return exp.Interval(this=number, unit=exp.Var(this=unit))


def _procedures_lifetime(node: exp.Interval, _: Reading) -> str:
    """The retention time of a tag, as procedures take it: ``7 d``."""
    return f"{node.this.name} {_UNITS[node.text('unit').removesuffix('S')]}"


SLOTS["lifetime"] = Slot(
    "a time, in DAYS, HOURS or MINUTES",
    _lifetime,
    _procedures_lifetime,
    "7 DAYS",
    lambda _, node: f"{node.this.name} {node.text('unit')}",
)
_ALTER = "ALTER TABLE {table} "


@declared(
    _ALTER + "<mode: CREATE OR REPLACE | CREATE | REPLACE> TAG! [<if_not_exists: IF NOT EXISTS>] {tag}"
    " [AS OF VERSION {snapshot:number}] [RETAIN {time_retained:lifetime}]"
)
class CreateTag(OfTable):
    """CREATE TAG, REPLACE TAG or CREATE OR REPLACE TAG.

    Attributes:
        snapshot: the snapshot to tag; by default the latest one.
        time_retained: its retention time; by default forever.
        mode: CREATE refuses a tag that exists, REPLACE one that does not.
        if_not_exists: with CREATE, leave an existing tag unchanged.
    """

    tag: str
    mode: Literal["CREATE", "REPLACE", "CREATE OR REPLACE"] = "CREATE"
    snapshot: int | None = None
    time_retained: str | None = None
    if_not_exists: bool = False


@declared(_ALTER + "DELETE|DROP TAG! [<if_exists: IF EXISTS>] {tag}")
class DeleteTag(OfTable):
    """DELETE TAG; ``tag`` may be several names, separated by commas."""

    tag: str
    if_exists: bool = False


@declared(_ALTER + "RENAME TAG! {tag} TO {target:new_name}")
class RenameTag(OfTable):
    """RENAME TAG .. TO."""

    tag: str
    target: str


@declared("SHOW TAGS [FROM|IN] {table}!")
class ShowTags(OfTable):
    """SHOW TAGS: one column ``tag``."""


@declared(
    _ALTER + "CREATE BRANCH! [<if_not_exists: IF NOT EXISTS>] {branch}"
    " [AS OF TAG {tag} | AS OF VERSION {snapshot:number} | AS OF VERSION {tag}]",
    refusals=dict.fromkeys(
        ("RETAIN", "WITH SNAPSHOT"),
        ("A branch has no time to live", "Delete it when it is no longer needed."),
    ),
)
class CreateBranch(OfTable):
    """CREATE BRANCH, from a tag or snapshot, or empty."""

    branch: str
    tag: str | None = None
    if_not_exists: bool = False
    snapshot: int | None = None


@declared(_ALTER + "DELETE|DROP BRANCH! [<if_exists: IF EXISTS>] {branch}")
class DeleteBranch(OfTable):
    """DELETE BRANCH; ``branch`` may be several names, separated by commas."""

    branch: str
    if_exists: bool = False


@declared(_ALTER + "RENAME BRANCH! {branch} TO {target:new_name}")
class RenameBranch(OfTable):
    """RENAME BRANCH .. TO."""

    branch: str
    target: str


@declared("SHOW BRANCHES [FROM|IN] {table}!")
class ShowBranches(OfTable):
    """SHOW BRANCHES: one column ``branch``."""


@reads("ALTER", "TABLE")
def branch_replaced(parser: PaimonParser) -> None:
    """Refuse to replace a branch."""
    parser.accept("ALTER", "TABLE")
    table, first = parser.table_name(), parser.token
    if table is not None and (parser.accept("REPLACE", "BRANCH") or parser.accept("CREATE", "OR", "REPLACE", "BRANCH")):
        raise parser.refusal("A branch cannot be replaced", first, "DROP BRANCH and then CREATE BRANCH.", table)
