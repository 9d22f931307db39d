"""Selection of a branch: by its name, by an option of the table, or by a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paimon_sql import errors
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.options.operations.scan import (
    SCAN_FALLBACK_BRANCH,
    SCAN_FALLBACK_DELTA_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
    SCAN_PRIMARY_BRANCH,
)
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.table.table import Table

NAMING_OPTIONS = (SCAN_FALLBACK_BRANCH, SCAN_PRIMARY_BRANCH, SCAN_FALLBACK_SNAPSHOT_BRANCH, SCAN_FALLBACK_DELTA_BRANCH)
"""The options of a table that refer to one of its branches."""


def branch_of(table: Table, name: str) -> Table:
    """Return another branch of the table, with its newest schema and own options.

    Raises:
        NotFoundError: the branch does not exist.
    """
    table.branches.require(name)
    other = replace(table, branch=name, name=table.name_of_branch(name))
    schema = other.schemas.latest()
    if schema is None:
        raise errors.InvalidInputError(
            f"Branch '{name}' of {table.name_of_branch(MAIN_BRANCH)} has no schema:"
            " its creation or deletion was not completed.",
            remedy="Delete the branch.",
        )
    return replace(other, schema=schema)


def branch_of_option(table: Table, name: str, key: str) -> Table:
    """Return the branch that an option names, in the table's read mode.

    Raises:
        InvalidOptionError: the branch does not exist.
    """
    try:
        return replace(branch_of(table, name), read_optimized=table.read_optimized)
    except errors.NotFoundError as error:
        raise errors.InvalidOptionError(
            f"{table.name}: the option '{key}' names branch '{name}', which does not exist.",
            key=key,
            remedy="Unset the option, or create the branch.",
        ) from error


def check_named_branches(schema: TableSchema, branches: BranchManager, before: TableSchema | None = None) -> None:
    """Check that the branches named by options exist, except those named before.

    Raises:
        InvalidOptionError: a branch does not exist.
    """
    for option in (BRANCH, *NAMING_OPTIONS):
        name = schema.options.get(option.key)
        if name and (before is None or before.options.get(option.key) != name) and not branches.exists(name):
            raise errors.InvalidOptionError(
                f"The option '{option.key}' cannot be '{name}': the table has no such branch.",
                key=option.key,
                remedy="Create the branch first.",
            )


def with_branch(table: Table, given: str | None = None) -> Table:
    """Return the table on the branch set by the statement, the session or its option ``branch``.

    A branch in the table's name (``t$branch_b``) takes precedence.

    Args:
        table: the table by its name, without options of the statement or session.
        given: the branch set by the statement or session.

    Raises:
        NotFoundError: the branch does not exist.
    """
    name = given or table.options.get(BRANCH)
    return table if table.branch != MAIN_BRANCH or name == MAIN_BRANCH else branch_of(table, name)


def moved_to_branch(table: Table, options: Mapping[str, str], *, writes: bool = False) -> Table:
    """Return the table on the branch set by read or write options, if it has the columns of the analyzed table.

    Args:
        table: the table that the statement was analyzed with.
        options: the options.
        writes: whether the branch must not have further columns.

    Raises:
        NotFoundError: the branch does not exist.
        InvalidInputError: its columns differ.
    """
    name = options.get(BRANCH.key, table.branch)
    if name == table.branch:
        return table
    other = branch_of(table, name)
    columns, other_columns = ([(f.name, f.type.as_nullable()) for f in t.schema.fields] for t in (table, other))
    if columns != other_columns and (writes or any(column not in other_columns for column in columns)):
        raise errors.InvalidInputError(
            f"Branch '{name}' of {table.name} has other columns than '{table.branch}'.",
            remedy=f"Name it: `{other.name.rpartition('.')[2]}`.",
        )
    return other
