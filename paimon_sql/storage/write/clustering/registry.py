"""Registry of clustering orders."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.write.clustering.base import ClusteringOrder

LAYOUTS: dict[str, ClusteringOrder] = {
    name: layout() for name, layout in by_name("paimon_sql.storage.write.clustering.orders", ClusteringOrder).items()
}


def row_layout(name: str) -> ClusteringOrder:
    """The clustering order of a name, in any case.

    Raises:
        InvalidInputError: there is none.
    """
    layout = LAYOUTS.get(name.lower())
    if layout is None:
        raise InvalidInputError(f"order_strategy cannot be '{name}'.", remedy=f"It is {', '.join(LAYOUTS)} or none.")
    return layout
