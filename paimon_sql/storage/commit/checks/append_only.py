"""Append-only tables, whose branches can be merged (``branch-merge.enabled``)."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.table.table import BRANCH_MERGE_ENABLED
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table

_WORDS = {
    CommitKind.COMPACT: "its files cannot be compacted",
    CommitKind.OVERWRITE: "rows of it cannot be overwritten, updated or deleted",
}


def is_append_only(table: Table) -> bool:
    """Whether no commit may delete files of the table."""
    return not table.schema.primary_keys and bool(table.options.get(BRANCH_MERGE_ENABLED))


def growth_error(table: Table, kind: CommitKind) -> UnsupportedError | None:
    """Return the error for a commit of that kind; None if it is allowed."""
    if kind not in _WORDS or not is_append_only(table):
        return None
    return UnsupportedError(
        f"{table.name} has '{BRANCH_MERGE_ENABLED.key}', so {_WORDS[kind]}: its branches could not be merged any more.",
        remedy="Set the option to 'false' if they need not be.",
    )


def _check(proposal: Proposal) -> None:
    if (error := growth_error(proposal.table, proposal.kind)) is not None:
        raise error


ONLY_GROWS = Validation("no rows are taken away where branches are to be merged", _check)
