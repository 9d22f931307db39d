"""The table of all kinds of global indexes, by name."""

from __future__ import annotations

from paimon_sql.format.global_index.base import GlobalIndexKind
from paimon_sql.format.global_index.kinds.bitmap import Bitmap
from paimon_sql.format.global_index.kinds.btree import BTree
from paimon_sql.format.global_index.kinds.multivalue import MultiValue

KINDS: dict[str, GlobalIndexKind] = {kind.name: kind for kind in (BTree(), Bitmap(), MultiValue())}
"""The kinds by name."""
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
"""Kinds of the connector that need a native library."""
