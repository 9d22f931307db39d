"""Base class of tables of ``sys``, whose rows are about a whole catalog."""

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
class ProcedureInfo:
    """A procedure of a catalog; ``arguments`` and ``results`` are strings with names and types."""

    name: str
    arguments: str
    results: str
    summary: str
    example: str


@dataclass(frozen=True)
class View:
    """The input of a catalog-wide table.

    Attributes:
        catalog: the catalog.
        procedures: the procedures in its ``sys``.
    """

    catalog: Catalog
    procedures: Sequence[ProcedureInfo] = field(default_factory=tuple)


class CatalogTable(ABC):
    """A table ``sys.name``.

    Attributes:
        name: its name in ``sys``.
        summary: its rows; one sentence.
        columns: its columns.
        is_listed: whether `SHOW TABLES IN sys` lists it: the tables that every Paimon engine has.
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
            view: the catalog and its procedures.
            predicate: a condition on this table's columns, which may be used to produce fewer rows; the caller
                evaluates it again.
        """
