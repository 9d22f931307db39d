"""Lexicographic order: rows sorted by the first column, then by the second, and so on."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_sql.storage.write.clustering.base import ClusteringOrder


class Plain(ClusteringOrder):
    """Orders as ORDER BY does, nulls first."""

    name = "order"

    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        return list(columns)
