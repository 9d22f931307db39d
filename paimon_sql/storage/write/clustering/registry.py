"""The layouts of rows by their names."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.write.clustering.base import RowLayout
from paimon_sql.storage.write.clustering.hilbert import Hilbert
from paimon_sql.storage.write.clustering.lexicographic import Plain
from paimon_sql.storage.write.clustering.z_order import ZOrder

LAYOUTS: dict[str, RowLayout] = {layout.name: layout for layout in (Plain(), ZOrder(), Hilbert())}


def row_layout(name: str) -> RowLayout:
    """The layout of that name, in capitals or not.

    Raises:
        InvalidInputError: there is none.
    """
    layout = LAYOUTS.get(name.lower())
    if layout is None:
        raise InvalidInputError(f"order_strategy cannot be '{name}'.", remedy=f"It is {', '.join(LAYOUTS)} or none.")
    return layout
