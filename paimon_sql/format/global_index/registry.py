"""Registry of the kinds of global indexes; discovered from the modules of `kinds`."""

from __future__ import annotations

from paimon_sql.discovery import instances
from paimon_sql.format.global_index.base import GlobalIndexKind

KINDS = instances("paimon_sql.format.global_index.kinds", GlobalIndexKind)
"""Kinds of global indexes by name."""
NATIVE = (
    *("lumina", "lumina-vector-ann", "ivf-flat", "ivf-pq", "ivf-sq", "ivf-rq", "diskann"),
    *("full-text", "tantivy-fulltext", "es-index"),
)
"""Kinds of Paimon's connector that need a native library."""
