"""REPLACE TABLE by the catalog's server, if only it can change definitions: called after the new rows are written.

The server truncates the table and sets the new definition, then the rows are committed: between these two steps readers
see an empty table. Earlier snapshots stay readable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CommitUnknownError, PaimonError, UnsupportedError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.tables.staged.base import StagedTableProxy
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table


class ServerReplacedTableProxy(StagedTableProxy):
    """A table whose definition the server replaces, and this statement its rows.

    Args:
        jvm: the JVM.
        old: the existing table.
        schema: its new definition, as of a new table.
        session: the session.
        catalog: the table's catalog.
        identifier: its name.
    """

    overwrite = Overwrite()

    def __init__(
        self, jvm: Jvm, old: Table, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> None:
        # Files are written before the server replaces the schema, so they need its expected id.
        expected = replace(schema, id=old.schema.id + 1)
        super().__init__(jvm, replace(old, schema=expected), session, catalog, identifier)
        self._expected = expected

    def commitStagedChanges(self) -> None:
        with self.transaction:
            messages = self.all_messages()
            self._replace()
            cached_tables.renew(self.jvm, self.session)
            if messages:
                self._fill(messages)
        cached_tables.renew(self.jvm, self.session)

    def _replace(self) -> None:
        self.catalog.replace_table(self.identifier, self._expected)
        schema = self.catalog.table(self.identifier).schema
        if schema.id < self._expected.id:
            raise UnsupportedError(
                f"{self.table.name} was not replaced: the catalog's server does not know how.",
                remedy="DROP the table and CREATE it anew.",
            )
        if (schema.id, schema.fields) != (self._expected.id, self._expected.fields) and self.messages:
            raise self._rows_lost("its definition was changed meanwhile")

    def _fill(self, messages: Any) -> None:
        try:
            operations.append(self.transaction, messages)
        except CommitUnknownError:
            raise
        except PaimonError as error:
            raise self._rows_lost(error.message) from error

    def _rows_lost(self, why: str) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name} was replaced, and is empty, as its rows could not be committed: {why}",
            commit_user=self.transaction.user,
            commit_identifier=self.transaction.identifier,
            remedy="INSERT them, or read the snapshot before.",
        )
