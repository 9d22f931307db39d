"""REPLACE TABLE by a successor: a table created and filled by another name, then renamed to the dropped table's.

It is for changes that one history cannot contain: other partition columns, or another table type. The old table's
history is lost.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.iceberg.lifetimes import shown_again, withdrawing
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import CommitUnknownError, PaimonError
from paimon_sql.storage.staging.table_identity import changed_table, is_same_table
from paimon_sql.storage.table.table import Table


def temporary_name(identifier: Identifier) -> Identifier:
    """A temporary name for the successor of a table."""
    return replace(identifier, table=f"{identifier.table}__replacing_{uuid.uuid4().hex[:8]}")


@dataclass
class Successor:
    """A table that replaces another one.

    Attributes:
        catalog: the catalog of both.
        old: the table to replace.
        identifier: the name of the table to replace.
        aside: the temporary name of the successor.
    """

    catalog: Catalog
    old: AnyTable
    identifier: Identifier
    temporary: Identifier
    _old_is_dropped: bool = False

    def commit(self) -> None:
        """Drop the old table and rename the successor to it.

        Raises:
            NoSuchTableError: the old table was dropped, renamed or replaced meanwhile; nothing was changed.
            CommitUnknownError: the old table was dropped, and the successor could not take its name.
        """
        if isinstance(self.old, Table) and not is_same_table(self.old):
            raise changed_table(self.old)
        with withdrawing(self.catalog, self.identifier), withdrawing(self.catalog, self.temporary):
            self.catalog.drop_table(self.identifier)
            self._old_is_dropped = True
            self._take_name()
        shown_again(self.catalog, self.identifier)

    def abort(self) -> None:
        """Drop the successor, unless the old table is already dropped: the successor is then the only copy."""
        if not self._old_is_dropped:
            self.catalog.drop_table(self.temporary)

    def _take_name(self) -> None:
        try:
            self.catalog.rename_table(self.temporary, self.identifier)
        except (PaimonError, OSError) as error:
            why = error.message if isinstance(error, PaimonError) else str(error)
            raise CommitUnknownError(
                f"{self.old.name} was dropped, and {self.temporary}, which replaces it, could not take its name: {why}",
                commit_user="",
                commit_identifier=0,
                remedy=f"ALTER TABLE {self.temporary} RENAME TO {self.identifier}.",
            ) from error
