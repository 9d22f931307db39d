"""Row-level strategies: how UPDATE, DELETE and MERGE change rows, by table layout and merge engine."""

from __future__ import annotations

from enum import Enum

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import (
    AGGREGATION_REMOVE_RECORD_ON_DELETE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
)
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.storage.table.table import Table


class RowLevelStrategy(Enum):
    """A strategy of changing rows."""

    UPSERT = "new rows of the same key, marked as updates and deletes"
    DROP_KEYS = "files of a keyed table rewritten without the rows of some keys"
    REWRITE = "append files rewritten without some of their rows"
    VECTORS = "rows of append files marked in deletion vectors"
    COLUMNS = "changed columns written into files beside those of the rows"


def row_level_strategy(table: Table, operation: Operation, deletes: bool) -> RowLevelStrategy:
    """Choose the strategy by which a statement changes rows of a table.

    Args:
        table: the table.
        operation: the kind of statement.
        deletes: whether the statement may delete rows.

    Raises:
        UnsupportedError: the merge engine would merge the changed rows with the old ones instead of replacing them, or
            rows of a table with data evolution would be deleted without deletion vectors.
    """
    options = table.options
    has_vectors = options.get(DELETION_VECTORS_ENABLED)
    if options.get(DATA_EVOLUTION_ENABLED):
        if deletes and not has_vectors:
            raise UnsupportedError(
                f"{table.name}: rows of tables with data evolution are deleted by deletion vectors only.",
                remedy=f"ALTER TABLE .. SET TBLPROPERTIES ('{DELETION_VECTORS_ENABLED.key}' = 'true') first.",
            )
        return RowLevelStrategy.VECTORS if operation is Operation.DELETE else RowLevelStrategy.COLUMNS
    if not table.schema.primary_keys:
        return RowLevelStrategy.VECTORS if has_vectors else RowLevelStrategy.REWRITE
    engine = options.get(MERGE_ENGINE)
    if operation is not Operation.DELETE and engine not in ("deduplicate", "partial-update"):
        raise UnsupportedError(
            f"{table.name}: {operation.value} is not possible with merge-engine '{engine}', which merges what is"
            " written with the rows that are there.",
            remedy="INSERT rows that the engine merges as you want, or use a table with merge-engine 'deduplicate'.",
        )
    if not deletes or _takes_deletes(table):
        return RowLevelStrategy.UPSERT
    if operation is Operation.DELETE:
        return RowLevelStrategy.DROP_KEYS
    raise UnsupportedError(
        f"{table.name}: a MERGE cannot delete rows of a table with merge-engine '{engine}' that takes no deletes.",
        remedy=f"Set '{PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.key}' = 'true', or use a DELETE of its own.",
    )


def _takes_deletes(table: Table) -> bool:
    options = table.options
    match options.get(MERGE_ENGINE):
        case "deduplicate":
            return True
        case "partial-update":
            by_group = options.get(PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP)
            return bool(options.get(PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE) or by_group)
        case "aggregation":
            return bool(options.get(AGGREGATION_REMOVE_RECORD_ON_DELETE))
    return False
