"""Append-only tables, whose branches can be merged (``branch-merge.enabled``)."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.table.table import BRANCH_MERGE_ENABLED
from paimon_sql.storage.commit.checks.conflicts import (
    LIVE_FILES,
    LIVE_MARKED,
    ONE_BUCKET_NUMBER,
    UNMARKED,
    WHOLE_GROUPS,
)
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table

_WORDS = {
    CommitKind.COMPACT: "its files cannot be compacted",
    CommitKind.OVERWRITE: "rows of it cannot be overwritten, updated or deleted",
}


def is_append_only(table: Table) -> bool:
    """Whether no commit may delete files of the table."""
    return not table.schema.has_key and bool(table.options.get(BRANCH_MERGE_ENABLED))


def growth_error(table: Table, kind: CommitKind) -> UnsupportedError | None:
    """Return the error for a commit of that kind; None if it is allowed."""
    if kind not in _WORDS or not is_append_only(table):
        return None
    return UnsupportedError(
        f"{table.name} has '{BRANCH_MERGE_ENABLED.key}', so {_WORDS[kind]}: its branches could not be merged any more.",
        remedy="Set the option to 'false' if the branches need not be merged.",
    )


def _check(proposal: Proposal) -> None:
    if (error := growth_error(proposal.table, proposal.kind)) is not None:
        raise error


APPEND_ONLY = Validation("no rows are taken away where branches are to be merged", _check)
OF_APPENDS = (APPEND_ONLY, LIVE_FILES, LIVE_MARKED, UNMARKED, ONE_BUCKET_NUMBER)
"""The validations of commits to append tables."""
OF_GROUPS = (*OF_APPENDS, WHOLE_GROUPS)
"""Those of commits to tables with data evolution."""
