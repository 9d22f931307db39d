"""Identifiers of tables: database, table, and after a ``$`` a branch or a system table."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.file_io.paths import check_file_name

MAIN_BRANCH = "main"
SYSTEM_DATABASE = "sys"
_BRANCH_PREFIX = "branch_"
_MAX_BYTES = 240
"""The max bytes of a name: file systems allow 255, of which prefixes and suffixes such as ``branch-`` need some."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A table (Paimon: `Identifier`): ``t``, ``t$files``, ``t$branch_b`` or ``t$branch_b$files`` in a database."""

    database: str
    table: str
    branch: str = MAIN_BRANCH
    system_table: str | None = None

    @property
    def object_name(self) -> str:
        """The name after the database, as in SQL between back-quotes."""
        branch = "" if self.branch == MAIN_BRANCH else f"${_BRANCH_PREFIX}{self.branch}"
        return self.table + branch + (f"${self.system_table}" if self.system_table else "")

    def __str__(self) -> str:
        return f"{self.database}.{self.object_name}"


def parse_identifier(database: str, object_name: str) -> Identifier:
    """Parse a name.

    Raises:
        InvalidInputError: the name has too many parts, or is not valid as a directory name.
    """
    parts = object_name.split("$")
    table, rest = check_name(parts[0], "table"), parts[1:]
    branch = MAIN_BRANCH
    if rest and rest[0].lower().startswith(_BRANCH_PREFIX):
        branch = check_name(rest.pop(0)[len(_BRANCH_PREFIX) :], "branch")
    if len(rest) > 1 or (rest and not rest[0]):
        raise InvalidInputError(
            f"`{object_name}` is not a table name.",
            remedy="Write t, t$system_table, t$branch_b or t$branch_b$system_table.",
        )
    return Identifier(database, table, branch, rest[0].lower() if rest else None)


def check_name(name: str, kind: str) -> str:
    """Return the name if it is valid as a directory name, including prefixes and suffixes.

    Args:
        name: a database's, table's, branch's or tag's name.
        kind: the kind of object, for the error.

    Raises:
        InvalidInputError: the name is empty, too long, contains a path separator or control character, or is ``.`` or
            ``..``.
    """
    if name in (".", ".."):
        raise InvalidInputError(f"'{name}' cannot be the name of a {kind}.", remedy="It refers to another directory.")
    return check_file_name(name, kind, _MAX_BYTES)
