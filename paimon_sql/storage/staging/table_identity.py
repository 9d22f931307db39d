"""Identity of a table: whether it is still the one that a statement was planned on."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.errors import NoSuchTableError
from paimon_sql.storage.metadata.schemas import descends
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table


def is_same_table(table: Table) -> bool:
    """Whether the schema that the table was opened with still exists, unchanged, in its directory.

    A schema file is written once. That of another table with the same name has another creation time or other columns;
    a branch with the same name has another file time. With version management the server compares the table's id.

    Raises:
        PaimonError: the file system cannot be read.
    """
    if table.version_management is not None:
        return True
    return table.schemas.has(table.schema) and table.created_millis == replace(table).created_millis


def require_same_table(table: Table) -> None:
    """Check that the table is still the one that was opened.

    Raises:
        NoSuchTableError: it was dropped, renamed or replaced.
    """
    if not is_same_table(table):
        raise changed_table(table)


def changed_table(table: Table) -> NoSuchTableError:
    """Return the error for a statement whose table was dropped or replaced."""
    return NoSuchTableError(
        f"{table.name} was dropped, renamed or replaced while the statement ran; nothing was committed.",
        name=table.name,
        remedy="Run the statement again if there is a table of this name.",
    )


def _check_table(proposal: Proposal) -> None:
    require_same_table(proposal.table)


def _check_definition(proposal: Proposal) -> None:
    """Reject a commit after REPLACE TABLE, or a rollback past one: the new columns would not show its rows."""
    table, latest = proposal.table, proposal.latest
    if latest is None or latest.schema_id == table.schema.id or table.version_management is not None:
        return
    if not descends(table.schema, table.schemas.get(latest.schema_id)):
        raise changed_table(table)


SAME_TABLE = Validation("the table is the one that the statement was planned on", _check_table)
SAME_DEFINITION = Validation("the table's definition was not replaced", _check_definition)
