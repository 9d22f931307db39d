"""Registry of clustering orders."""

from __future__ import annotations

from paimon_sql.discovery import instances
from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.write.clustering.base import ClusteringOrder

LAYOUTS = instances("paimon_sql.storage.write.clustering.orders", ClusteringOrder)


def row_layout(name: str) -> ClusteringOrder:
    """The clustering order of a name, in any case.

    Raises:
        InvalidInputError: there is none.
    """
    layout = LAYOUTS.get(name.lower())
    if layout is None:
        raise InvalidInputError(f"order_strategy cannot be '{name}'.", remedy=f"Use {', '.join(LAYOUTS)} or none.")
    return layout
