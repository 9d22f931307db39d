"""The merge engines by name: what is left of the rows of one key."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.merge_engine import SEQUENCE_SNAPSHOT_ORDERING
from paimon_sql.format.schema import TableSchema
from paimon_sql.storage.merge.engines.aggregation import Aggregation
from paimon_sql.storage.merge.engines.base import MergeEngine
from paimon_sql.storage.merge.engines.deduplicate import Deduplicate
from paimon_sql.storage.merge.engines.first_row import FirstRow
from paimon_sql.storage.merge.engines.partial_update import PartialUpdate

ENGINES: dict[str, type[MergeEngine]] = {
    engine.name: engine for engine in (Deduplicate, PartialUpdate, Aggregation, FirstRow)
}


def merge_engine(schema: TableSchema) -> MergeEngine:
    """The engine that a table's options name.

    Raises:
        UnsupportedError: there is no such engine here, or the order of snapshots decides which row is the latest.
    """
    if SEQUENCE_SNAPSHOT_ORDERING.read(schema.options.get(SEQUENCE_SNAPSHOT_ORDERING.key, "false")):
        raise UnsupportedError(
            f"A table with '{SEQUENCE_SNAPSHOT_ORDERING.key}' = 'true' cannot be merged: the latest row is chosen by"
            " sequence numbers here, and would be another one.",
            remedy="Use an engine that knows the option.",
        )
    name = schema.options.get("merge-engine", Deduplicate.name)
    if name not in ENGINES:
        raise UnsupportedError(f"The merge engine '{name}' is not offered.", remedy=f"Use one of {sorted(ENGINES)}.")
    return ENGINES[name](schema)
