"""REPLACE TABLE by a successor: a table that is made and filled beside the old one, whose name it takes in the end.

It is for what the history of one table cannot hold: other partition columns, or another kind of table. The old table's
history goes with it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.iceberg.lifetimes import shown_again, shown_no_more
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import CommitUnknownError, PaimonError
from paimon_sql.storage.staging.table_identity import changed_table, is_same_table
from paimon_sql.storage.table.table import Table


def beside(identifier: Identifier) -> Identifier:
    """A name for the successor of a table until it takes the table's own."""
    return replace(identifier, table=f"{identifier.table}__replacing_{uuid.uuid4().hex[:8]}")


@dataclass
class Successor:
    """A table that is to take another one's place.

    Attributes:
        catalog: the catalog of both.
        old: the table whose place it takes.
        identifier: the name of that table.
        aside: its own name until then.
    """

    catalog: Catalog
    old: AnyTable
    identifier: Identifier
    aside: Identifier
    _is_alone: bool = False

    def take_place(self) -> None:
        """Drop the old table, and take its name.

        Raises:
            NoSuchTableError: the old table was dropped, renamed or replaced meanwhile; nothing was changed.
            CommitUnknownError: the old table was dropped, and the successor could not take its name.
        """
        if isinstance(self.old, Table) and not is_same_table(self.old):
            raise changed_table(self.old)
        with shown_no_more(self.catalog, self.identifier), shown_no_more(self.catalog, self.aside):
            self.catalog.drop_table(self.identifier)
            self._is_alone = True
            self._take_name()
        shown_again(self.catalog, self.identifier)

    def withdraw(self) -> None:
        """Drop the successor, which nobody else knows, unless the old table has gone."""
        if not self._is_alone:
            self.catalog.drop_table(self.aside)

    def _take_name(self) -> None:
        try:
            self.catalog.rename_table(self.aside, self.identifier)
        except (PaimonError, OSError) as error:
            why = error.message if isinstance(error, PaimonError) else str(error)
            raise CommitUnknownError(
                f"{self.old.name} was dropped, and {self.aside}, which replaces it, could not take its name: {why}",
                commit_user="",
                commit_identifier=0,
                remedy=f"ALTER TABLE {self.aside} RENAME TO {self.identifier}.",
            ) from error
