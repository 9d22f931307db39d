"""Format tables that a statement makes together with their rows: CREATE TABLE .. AS SELECT."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.spark.format_tables.table import FormatTableProxy
from paimon_sql.spark.java import CATALOG, Jvm
from paimon_sql.storage.format_tables import FormatTable


class CreatedFormatTable(FormatTableProxy):
    """A format table that this statement has created; without its rows it goes again."""

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any, catalog: Catalog, identifier: Identifier) -> None:
        super().__init__(jvm, table, session, writes=True)
        self.catalog = catalog
        self.identifier = identifier

    def commitStagedChanges(self) -> None:
        pass

    def abortStagedChanges(self) -> None:
        self.catalog.drop_table(self.identifier)

    class Java:
        implements = [*FormatTableProxy.Java.implements, f"{CATALOG}.StagedTable"]
