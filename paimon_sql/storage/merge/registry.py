"""Registry of merge engines by name."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.operations.compaction import PK_CLUSTERING_OVERRIDE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.merge.engines.base import MergeEngine
from paimon_sql.storage.merge.engines.deduplicate import Deduplicate

ENGINES: dict[str, type[MergeEngine]] = by_name("paimon_sql.storage.merge.engines", MergeEngine)


def merge_engine(schema: TableSchema) -> MergeEngine:
    """Return the engine of the option ``merge-engine``.

    Raises:
        UnsupportedError: the engine is unknown, or the files are not sorted by key.
    """
    if PK_CLUSTERING_OVERRIDE.read(schema.options.get(PK_CLUSTERING_OVERRIDE.key, "false")):
        raise UnsupportedError(
            f"A table with '{PK_CLUSTERING_OVERRIDE.key}' = 'true' is neither merged nor written here: its files are"
            " not ordered by the key.",
            remedy="Use a Java engine, and read what it has compacted.",
        )
    name = schema.options.get("merge-engine", Deduplicate.name)
    if name not in ENGINES:
        raise UnsupportedError(f"The merge engine '{name}' is not offered.", remedy=f"Use one of {sorted(ENGINES)}.")
    return ENGINES[name](schema)
