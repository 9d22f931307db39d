"""Registry of merge engines by name."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import PK_CLUSTERING_OVERRIDE
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.merge.engines.base import MergeEngine

ENGINES = by_name("paimon_sql.storage.merge.engines", MergeEngine)


def engine_of(options: TableOptions) -> type[MergeEngine]:
    """Return the class of the option ``merge-engine``."""
    return ENGINES[options.get(MERGE_ENGINE)]


def merge_engine(schema: TableSchema) -> MergeEngine:
    """Return the engine of a table.

    Raises:
        UnsupportedError: the files are not sorted by key.
    """
    options = TableOptions(schema.options)
    if options.get(PK_CLUSTERING_OVERRIDE):
        raise UnsupportedError(
            f"A table with '{PK_CLUSTERING_OVERRIDE.key}' = 'true' cannot be merged or written: its files are not"
            " ordered by the key.",
            remedy="Use a Java engine; the files that it has compacted can be read.",
        )
    return engine_of(options)(schema)
