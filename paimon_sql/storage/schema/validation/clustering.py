"""Rules about the order of rows and manifests, and about chain tables."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.operations.commit import MANIFEST_SORT_ENABLED, MANIFEST_SORT_PARTITION_FIELD
from paimon_sql.format.options.operations.compaction import (
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    PK_CLUSTERING_OVERRIDE,
)
from paimon_sql.format.options.operations.scan import CHAIN_TABLE_CHAIN_PARTITION_KEYS, CHAIN_TABLE_ENABLED
from paimon_sql.format.options.table.bucket import BUCKET_APPEND_ORDERED
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import SEQUENCE_FIELD
from paimon_sql.format.options.table.partition import (
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.storage.schema.validation.definition import Definition, conflict, quoted_list


def incremental_clustering(table: Definition) -> Iterator[PaimonError]:
    """Incremental clustering is for rows without another order."""
    if not table.is_on(CLUSTERING_INCREMENTAL):
        return
    if table.has_key:
        yield conflict(CLUSTERING_INCREMENTAL, "is for tables without a primary key.", "Leave it out.")
    if table.bucket != -1:
        if table.is_on(BUCKET_APPEND_ORDERED):
            yield conflict(CLUSTERING_INCREMENTAL, f"needs '{BUCKET_APPEND_ORDERED.key}' = 'false' with fixed buckets.")
        if table.is_on(DELETION_VECTORS_ENABLED):
            yield conflict(CLUSTERING_INCREMENTAL, "does not go with deletion vectors and fixed buckets.")


def clustered_keys(table: Definition) -> Iterator[PaimonError]:
    """The files of a table with a key are ordered by it."""
    if table.is_on(PK_CLUSTERING_OVERRIDE):
        yield conflict(
            PK_CLUSTERING_OVERRIDE,
            "is not offered: files of a table with a primary key are ordered by it.",
            f"Leave it out; '{CLUSTERING_COLUMNS.key}' order tables without a key.",
        )


def manifest_order(table: Definition) -> Iterator[PaimonError]:
    """Manifests are sorted by a partition column."""
    if not table.is_on(MANIFEST_SORT_ENABLED):
        return
    partitions = table.schema.partition_keys
    if not partitions and not table.is_on(DATA_EVOLUTION_ENABLED):
        yield conflict(MANIFEST_SORT_ENABLED, "is for partitioned tables.", "Leave it out.")
    name = table.options.get(MANIFEST_SORT_PARTITION_FIELD)
    if name and name not in partitions:
        yield conflict(
            MANIFEST_SORT_PARTITION_FIELD,
            f"names '{name}', which is no partition column.",
            f"Those are {quoted_list(partitions) or 'none'}.",
        )


def chains(table: Definition) -> Iterator[PaimonError]:
    """Chain tables need keys, fixed buckets, an order of rows and partition times."""
    if not table.is_on(CHAIN_TABLE_ENABLED):
        return
    key, schema = CHAIN_TABLE_ENABLED, table.schema
    needs = {
        "a primary key": table.has_key,
        "partitions": bool(schema.partition_keys),
        "'bucket' above 0": table.bucket > 0,
        f"'{SEQUENCE_FIELD.key}'": bool(table.sequence_fields),
        "'changelog-producer' none or input": table.producer in ("none", "input"),
        f"'{PARTITION_TIMESTAMP_PATTERN.key}'": table.options.has(PARTITION_TIMESTAMP_PATTERN),
        f"'{PARTITION_TIMESTAMP_FORMATTER.key}'": table.options.has(PARTITION_TIMESTAMP_FORMATTER),
    }
    for need, met in needs.items():
        if not met:
            yield conflict(key, f"needs {need}.")
    if table.is_on(DELETION_VECTORS_ENABLED) and table.merge_engine != "deduplicate":
        yield conflict(key, "goes with deletion vectors only for 'merge-engine' = 'deduplicate'.")
    if table.options.has(PARTITION_EXPIRATION_TIME):
        strategy = table.options.get(PARTITION_EXPIRATION_STRATEGY)
        if strategy != "values-time":
            yield conflict(PARTITION_EXPIRATION_STRATEGY, f"cannot be '{strategy}' for a chain table.")
    if table.options.has(CHAIN_TABLE_CHAIN_PARTITION_KEYS):
        names = table.names_of(CHAIN_TABLE_CHAIN_PARTITION_KEYS)
        if not names or schema.partition_keys[-len(names) :] != names:
            yield conflict(
                CHAIN_TABLE_CHAIN_PARTITION_KEYS,
                f"must be the last of the partition columns {quoted_list(schema.partition_keys)}.",
            )
