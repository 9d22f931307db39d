"""Row-level strategies: how UPDATE, DELETE and MERGE change rows, by table layout and merge engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from enum import Enum

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.read.metadata_columns import metadata_fields
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bound_partition_keys


class RowLevelStrategy(Enum):
    """A strategy of changing rows."""

    UPSERT = "new rows of the same key, marked as updates and deletes"
    DROP_KEYS = "files of a primary-key table rewritten without the rows of some keys"
    REWRITE = "append files rewritten without some of their rows"
    VECTORS = "rows of append files marked in deletion vectors"
    COLUMNS = "changed columns written to files beside those of the rows"


class RowLevelLayout(TableLayout):
    """Facet of table layouts: how statements change rows."""

    @abstractmethod
    def row_level_strategy(self, table: Table, operation: Operation, deletes: bool) -> RowLevelStrategy:
        """Choose the strategy by which a statement changes rows of a table.

        Args:
            table: the table.
            operation: the kind of statement.
            deletes: whether the statement may delete rows.

        Raises:
            UnsupportedError: the table's rows cannot be changed by it.
        """


class AppendRowChanges(RowLevelLayout):
    """Rows of complete files are deleted, and written anew."""

    def row_level_strategy(self, table: Table, operation: Operation, deletes: bool) -> RowLevelStrategy:
        return RowLevelStrategy.VECTORS if table.options.get(DELETION_VECTORS_ENABLED) else RowLevelStrategy.REWRITE


class GroupRowChanges(RowLevelLayout):
    """Changed columns are written beside those of the rows (data evolution)."""

    def row_level_strategy(self, table: Table, operation: Operation, deletes: bool) -> RowLevelStrategy:
        if deletes and not table.options.get(DELETION_VECTORS_ENABLED):
            raise UnsupportedError(
                f"{table.name}: rows of tables with data evolution are deleted by deletion vectors only.",
                remedy=f"ALTER TABLE .. SET TBLPROPERTIES ('{DELETION_VECTORS_ENABLED.key}' = 'true') first.",
            )
        return RowLevelStrategy.VECTORS if operation is Operation.DELETE else RowLevelStrategy.COLUMNS


class KeyRowChanges(RowLevelLayout):
    """Rows of the same key are written, if the merge engine lets them replace the old ones."""

    def row_level_strategy(self, table: Table, operation: Operation, deletes: bool) -> RowLevelStrategy:
        engine = merge_engine(table.schema)
        if operation is not Operation.DELETE and not engine.replaces:
            raise UnsupportedError(
                f"{table.name}: {operation.value} is not possible with merge-engine '{engine.name}', which merges"
                " written rows with existing ones.",
                remedy="INSERT rows that the engine merges as you want, or use a table with merge-engine"
                " 'deduplicate'.",
            )
        if not deletes or engine.takes_deletes:
            return RowLevelStrategy.UPSERT
        if operation is Operation.DELETE:
            return RowLevelStrategy.DROP_KEYS
        raise UnsupportedError(
            f"{table.name}: a MERGE cannot delete rows of a table with merge-engine '{engine.name}' that does"
            " not support deletes.",
            remedy=f"Set '{PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.key}' = 'true', or use a separate DELETE.",
        )


def check_columns(table: Table, required: Collection[str]) -> None:
    """Check that a table has the metadata columns by which a statement finds rows.

    Raises:
        UnsupportedError: a column of the table hides one of them.
    """
    if taken := {*required} - {f.name for f in metadata_fields(table.schema)}:
        raise UnsupportedError(
            f"{table.name}: rows cannot be changed while a column is named {min(taken)}.", remedy="Rename the column."
        )


def check_assigned(table: Table, assigned: Collection[str]) -> None:
    """Check that an UPDATE by new rows of the same key may set some columns.

    Args:
        table: a table with a primary key.
        assigned: the columns.

    Raises:
        UnsupportedError: one is of the primary key, or a partition column between whose partitions rows cannot move.
    """
    schema = table.schema
    if keys := [name for name in schema.primary_keys if name in assigned]:
        raise UnsupportedError(
            f"{table.name}: UPDATE cannot set primary key columns ({', '.join(keys)}).",
            remedy="DELETE the row and INSERT it with its new key.",
        )
    bound = bound_partition_keys(schema)
    moved = sorted(name for name in schema.partition_keys if name in assigned)
    if moved and (bound or not merge_engine(schema).moves_rows):
        why = "bucket" if bound else "merge-engine, ignore-delete"
        raise UnsupportedError(
            f"{table.name}: UPDATE cannot set {', '.join(moved)}: rows of this table cannot move to another partition"
            f" ({why}).",
            remedy="DELETE the row and INSERT it again.",
        )
