"""Staged tables: created or replaced together with their rows (CREATE TABLE AS SELECT, REPLACE TABLE).

The rows are written to staged files of the statement's transaction, which commits when Spark commits the table. A new
table is created at once, and dropped if its rows are certainly not committed; a replaced one is unchanged until the
commit.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from pyspark.sql import DataFrame

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.iceberg.tables import shown_again, withdrawing
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import CommitUnknownError, PaimonError, UnsupportedError
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.connector import WriteInfo
from paimon_sql.spark.jvm.gateway import CATALOG
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.write.job import WriteRequest, write_rows
from paimon_sql.spark.write.proxies import WriteProxy
from paimon_sql.storage.commit.transaction import Outcome, Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.operations import operations
from paimon_sql.storage.operations.replace_table import replace_table
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite, changed_table, is_same_table
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write


def temporary_name(identifier: Identifier) -> Identifier:
    """A temporary name for the successor of a table."""
    return replace(identifier, table=f"{identifier.table}__replacing_{uuid.uuid4().hex[:8]}")


@dataclass
class Successor:
    """A table that replaces another one, whose history is lost.

    It is for changes that one history cannot contain: other partition columns, or another table type.

    Attributes:
        catalog: the catalog of both.
        old: the table to replace.
        identifier: the name of the table to replace.
        temporary: the temporary name of the successor.
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
                f"{self.old.name} was dropped, but its replacement {self.temporary} could not be renamed: {why}",
                commit_user="",
                commit_identifier=0,
                remedy=f"Run ALTER TABLE {self.temporary} RENAME TO {self.identifier}.",
            ) from error


@dataclass(eq=False)
class StagedTableProxy(TableProxy):
    """A table whose statement is not committed yet; subclasses implement the commit.

    Attributes:
        catalog: the table's catalog.
        identifier: its name.
        overwrite: the rows to replace; None appends.
    """

    implements = [*TableProxy.implements, f"{CATALOG}.StagedTable"]

    overwrite: ClassVar[Overwrite | None] = None

    catalog: Catalog
    identifier: Identifier
    messages: list[CommitMessage] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.transaction = Transaction(self.table)

    def _is_like(self, other: SchemaTable) -> bool:
        return False

    def newWriteBuilder(self, info: WriteInfo) -> WriteProxy:
        write = StagedWriteProxy(self, info)
        self.transaction = Transaction(write.request.table)  # the options of the write apply to its commit
        return write

    def write(self, rows: DataFrame) -> None:
        """Write rows to staged files."""
        task = plan_write(self.transaction.table, self.overwrite)
        self.messages += self.transaction.staged.own(write_rows(self.jvm, task, rows))
        if self.overwrite is None:
            self.transaction.require(*task.validations(self.messages))

    def abortStagedChanges(self) -> None:
        self.transaction.close()

    def all_messages(self) -> list[CommitMessage]:
        """The messages of the written rows and of the compactions that are due after them."""
        compacted = compact_due(self.transaction.table, self.messages, SparkExecutor(self.jvm), self.overwrite)
        return [*self.messages, *self.transaction.staged.own(compacted)]


@dataclass(eq=False)
class CreatedTableProxy(StagedTableProxy):
    """A table that this statement has created, and drops if the statement fails.

    Attributes:
        successor: replaces another table by this one after the rows are committed.
    """

    successor: Successor | None

    def commitStagedChanges(self) -> None:
        with self.transaction:
            if self.messages:
                operations.append(self.transaction, self.all_messages())
        if self.successor is not None:
            self.successor.commit()
            cached_tables.renew(self.session)

    def abortStagedChanges(self) -> None:
        super().abortStagedChanges()
        if self.successor is not None:
            self.successor.abort()
            return
        table = self.transaction.table
        # Concurrent writers may have committed rows, or a commit with unknown outcome may have succeeded.
        if self.transaction.outcome is Outcome.NOT_COMMITTED and is_same_table(table) and not _has_rows(table):
            self.catalog.drop_table(self.identifier)


@dataclass(eq=False)
class ReplacedTableProxy(StagedTableProxy):
    """A table whose definition and rows are replaced; readers see no change before the commit.

    Attributes:
        old: the existing table.
    """

    overwrite = Overwrite()
    old: Table

    def commitStagedChanges(self) -> None:
        with self.transaction:
            replace_table(self.transaction, self.old, self.all_messages())
        cached_tables.renew(self.session)


class StagedWriteProxy(WriteProxy):
    """A write into a staged table: to files that its statement commits."""

    def __init__(self, target: StagedTableProxy, info: WriteInfo) -> None:
        super().__init__(target.session, target.table, info)
        self._target = target

    def build(self) -> StagedWriteProxy:
        self.request = WriteRequest(self.request.table, self._target.overwrite)
        return self

    def _write(self, rows: DataFrame) -> None:
        self._target.write(rows)


def _has_rows(table: Table) -> bool:
    """Whether the table has a snapshot; true if its directory cannot be read."""
    try:
        return table.snapshots.latest_id() is not None
    except (PaimonError, OSError):
        return True


@dataclass(eq=False)
class ServerReplacedTableProxy(StagedTableProxy):
    """A table whose definition the server replaces, and this statement its rows.

    The server truncates the table and sets the new definition, then the rows are committed: between these two steps
    readers see an empty table. Earlier snapshots stay readable. Files are written before the server replaces the
    schema, so the table has the schema that is expected, with its id.
    """

    overwrite = Overwrite()

    def commitStagedChanges(self) -> None:
        with self.transaction:
            messages = self.all_messages()
            self._replace()
            cached_tables.renew(self.session)
            if messages:
                self._fill(messages)
        cached_tables.renew(self.session)

    def _replace(self) -> None:
        self.catalog.replace_table(self.identifier, self.table.schema)
        schema = self.catalog.table(self.identifier).schema
        if schema.id < self.table.schema.id:
            raise UnsupportedError(
                f"{self.table.name} was not replaced: the catalog's server does not support it.",
                remedy="DROP the table and CREATE it again.",
            )
        if (schema.id, schema.fields) != (self.table.schema.id, self.table.schema.fields) and self.messages:
            raise self._rows_lost("its definition was changed concurrently")

    def _fill(self, messages: Sequence[CommitMessage]) -> None:
        try:
            operations.append(self.transaction, messages)
        except CommitUnknownError:
            raise
        except PaimonError as error:
            raise self._rows_lost(error.message) from error

    def _rows_lost(self, why: str) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name} was replaced and is empty, because its rows could not be committed: {why}",
            commit_user=self.transaction.user,
            commit_identifier=self.transaction.identifier,
            remedy="INSERT them, or read the previous snapshot.",
        )
