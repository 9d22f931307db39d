"""Base class of tables of ``sys``, whose rows are about a whole catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from paimon_sql.catalog.base import Catalog
from paimon_sql.format.schema.records import column
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import RecordTable


@dataclass(frozen=True)
class ProcedureInfo:
    """A procedure of a catalog."""

    name: str = column("the procedure, called as CALL sys.name(..)")
    arguments: str = column("its arguments in their order, with their types")
    results: str = column("the columns of its result, with their types")
    summary: str = column("what it does")
    example: str = column("an example call")


@dataclass(frozen=True)
class View:
    """The input of a catalog-wide table.

    Attributes:
        catalog: the catalog.
        procedures: the procedures in its ``sys``.
    """

    catalog: Catalog
    procedures: Sequence[ProcedureInfo] = field(default_factory=tuple)


class CatalogTable(RecordTable):
    """A table ``sys.name``; a class defines `records` or `rows` as a `SystemTable` does.

    Class attributes:
        is_listed: whether `SHOW TABLES IN sys` lists it: the tables that every Paimon engine has.
    """

    is_listed: ClassVar[bool] = False

    def exists_in(self, catalog: Catalog) -> bool:
        """Whether the catalog has this table."""
        return True

    def records(self, view: View) -> Iterable[object]:
        """The rows as instances of ``Row``; argument as in `rows`."""
        raise NotImplementedError

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        """The rows, with all columns.

        Args:
            view: the catalog and its procedures.
            predicate: a condition on this table's columns, which may be used to produce fewer rows; the caller
                evaluates it again.
        """
        return self.of_records(self.records(view))
