"""Table layouts: how the rows of a table lie in files, one class each, chosen by the schema when a table is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import ClassVar, Protocol, TypeVar

from paimon_sql.discovery import implementations
from paimon_sql.format.schema.schema import TableSchema

LAYOUTS = "paimon_sql.storage.layouts"
"""The package of the layouts, which is above all others that use them."""
Facet = TypeVar("Facet", bound="TableLayout")


class TableLayout(ABC):
    """A layout of tables; it has no state.

    This class has what the lowest packages need of a layout. A package above whose work depends on it declares a facet:
    an abstract class that derives from this one and lists what the package needs. The layouts in ``storage/layouts/``
    derive from all facets (decision 22).

    Class attributes:
        has_final_rows: whether each row lies complete and in its only version in one file, so that nothing but a
            deletion vector changes what a file says.
        groups_files: whether the columns of a row may lie in several files (data evolution).
        keeps_deletes: whether compactions keep deletes, because they apply to rows of other partitions, too.
    """

    has_final_rows: ClassVar[bool] = False
    groups_files: ClassVar[bool] = False
    keeps_deletes: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def applies_to(cls, schema: TableSchema) -> bool:
        """Whether tables of a schema have this layout; a layout is checked before those that it derives from."""

    @classmethod
    def of(cls: type[Facet], table: HasLayout) -> Facet:
        """Return a table's layout as this facet."""
        layout = table.layout
        assert isinstance(layout, cls)
        return layout


class HasLayout(Protocol):
    """Anything that has a layout."""

    @property
    def layout(self) -> TableLayout:
        """The layout."""


@cache
def layouts() -> tuple[TableLayout, ...]:
    """Return all layouts, those that derive from others first; the first call imports what they need."""
    found = [kind() for kind in implementations(LAYOUTS, TableLayout)]
    return tuple(sorted(found, key=lambda layout: len(type(layout).__mro__), reverse=True))


def choose_layout(schema: TableSchema) -> TableLayout:
    """Return the layout of the tables of a schema."""
    return next(layout for layout in layouts() if layout.applies_to(schema))
