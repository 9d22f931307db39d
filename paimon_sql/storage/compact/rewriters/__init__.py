"""The ways to rewrite the files of a bucket; which one a table needs follows from its options."""

from __future__ import annotations

from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.storage.compact.rewriters.base import BucketWork, Rewriter
from paimon_sql.storage.compact.rewriters.full_changelog import FullChangelogRewriter
from paimon_sql.storage.compact.rewriters.lookup import LookupRewriter
from paimon_sql.storage.merge.lookup_levels import looks_up


def rewriter_of(work: BucketWork) -> Rewriter:
    """The rewriter for a bucket of a table."""
    options = work.table.options
    if looks_up(options):
        return LookupRewriter(work)
    if options.get(CHANGELOG_PRODUCER) == "full-compaction":
        return FullChangelogRewriter(work)
    return Rewriter(work)


__all__ = ["BucketWork", "Rewriter", "rewriter_of"]
