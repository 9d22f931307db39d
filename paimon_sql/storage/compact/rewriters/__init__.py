"""Rewriters of a bucket's files, one module each; a table's options select one."""

from __future__ import annotations

from functools import cache

from paimon_sql.discovery import implementations
from paimon_sql.storage.compact.rewriters.base import BucketWork, Rewriter


def rewriter_of(work: BucketWork) -> Rewriter:
    """The rewriter for a bucket of a table."""
    return next((kind for kind in _kinds() if kind.serves(work.table.options)), Rewriter)(work)


@cache
def _kinds() -> list[type[Rewriter]]:
    return implementations(__name__, Rewriter)


__all__ = ["BucketWork", "Rewriter", "rewriter_of"]
