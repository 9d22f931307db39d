"""Registry of the kinds of global indexes; discovered from the modules of `kinds`."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.format.global_index.base import GlobalIndexKind

KINDS: dict[str, GlobalIndexKind] = {
    name: kind() for name, kind in by_name("paimon_sql.format.global_index.kinds", GlobalIndexKind).items()
}
"""Kinds of global indexes by name."""
NATIVE = (
    "lumina",
    "lumina-vector-ann",
    "ivf-flat",
    "ivf-pq",
    "ivf-sq",
    "ivf-rq",
    "diskann",
    "full-text",
    "tantivy-fulltext",
    "es-index",
)
"""Kinds of Paimon's connector that need a native library."""
