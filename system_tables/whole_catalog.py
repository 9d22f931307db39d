"""What a catalog-wide table is: a table in ``sys`` whose rows are about a whole catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from paimon_sql.catalog.base import Catalog
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate


@dataclass(frozen=True)
class Offered:
    """A procedure that a catalog offers, as texts: its arguments and results with their types."""

    name: str
    arguments: str
    results: str
    summary: str
    example: str


@dataclass(frozen=True)
class View:
    """What a catalog-wide table looks at.

    Attributes:
        catalog: the catalog.
        procedures: the procedures in its ``sys``.
    """

    catalog: Catalog
    procedures: Sequence[Offered] = field(default_factory=tuple)


class CatalogTable(ABC):
    """A table ``sys.name``.

    Attributes:
        name: its name in ``sys``.
        summary: what its rows are, in one sentence.
        columns: its columns.
        is_listed: whether `SHOW TABLES IN sys` names it, as it does with those that Paimon has everywhere.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    columns: ClassVar[tuple[DataField, ...]]
    is_listed: ClassVar[bool] = False

    def exists_in(self, catalog: Catalog) -> bool:
        """Whether the catalog has this table."""
        return True

    @abstractmethod
    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        """The rows, with all columns.

        Args:
            view: what it looks at.
            predicate: a condition on this table's own columns; it may be used to produce fewer rows and is evaluated
                again by whoever asked.
        """
