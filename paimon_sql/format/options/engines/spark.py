"""Options of the Spark connector, for a session, a statement or a DataFrame."""

from __future__ import annotations

from paimon_sql.format.options import values
from paimon_sql.format.options.values import Scope, at_least, choice, kept_for

boolean = values.boolean.scoped(Scope.SPARK)
integer = values.integer.scoped(Scope.SPARK)
long = values.long.scoped(Scope.SPARK)
memory_size = values.memory_size.scoped(Scope.SPARK)

WRITE_MERGE_SCHEMA = boolean("write.merge-schema", "false", "Whether a write adds columns that the table lacks.")
WRITE_MERGE_SCHEMA_TYPE_WIDENING = boolean(
    "write.merge-schema.type-widening", "false", "Whether such a write also widens the types of columns."
)
WRITE_MERGE_SCHEMA_EXPLICIT_CAST = boolean(
    "write.merge-schema.explicit-cast", "false", "Whether it may also narrow types and lose digits."
)
WRITE_USE_V2_WRITE = boolean(
    "write.use-v2-write",
    "false",
    "Whether Spark's own distributed write is used.",
    status=kept_for("Java's Spark connector"),
)
WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED = boolean(
    "write.hive-style-dynamic-partition.enabled",
    "false",
    "Whether INSERT without column names takes dynamic partition columns last, as Hive does.",
)
WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS = integer(
    "write.data-evolution.update-conflict-retry.max-attempts",
    "20",
    "The maximum number of attempts of a change of single columns of rows that conflicts with concurrent changes.",
)
WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS = long(
    "write.data-evolution.update-conflict-retry.wait-ms",
    "10",
    "The wait in milliseconds between these attempts; if neither option is set, eight attempts are made with"
    " increasing waits.",
)
READ_CHANGELOG = boolean(
    "read.changelog",
    "false",
    "Whether a stream shows the row kind of each row in an additional column.",
    alternatives=("readChangeFeed",),
    renamed=True,
)
READ_ALLOW_FULL_SCAN = boolean(
    "read.allow.fullScan", "true", "Whether a query of a table with partitions may read all of its files."
)
READ_PUSH_DOWN_ENABLED = boolean(
    "read.push-down.enabled",
    "true",
    "Whether conditions, limits, orders and aggregates of a query may be evaluated with metadata, indexes and"
    " readers; otherwise whole tables are read, and Spark computes everything.",
)
READ_KEY_PRUNING_MIN_SIZE = memory_size(
    "read.key-pruning.min-size",
    "64 mb",
    "The size from which a scan skips files by the join keys of the other side, which Spark plans once more for that.",
)
STREAM_UNKNOWN_EPOCH = choice(
    "write.stream.unknown-epoch",
    "error",
    "What a stream does with its first micro-batch after a restart if the table's history does not show any more"
    " whether it was committed: fail, skip it, or commit it.",
    ("error", "skip", "commit"),
    scope=Scope.SPARK,
)
READ_STREAM_MAX_FILES_PER_TRIGGER = integer(
    "read.stream.maxFilesPerTrigger", None, "The maximum number of files that a micro-batch reads.", check=at_least(1)
)
READ_STREAM_MAX_BYTES_PER_TRIGGER = long(
    "read.stream.maxBytesPerTrigger", None, "The maximum number of bytes that a micro-batch reads.", check=at_least(1)
)
READ_STREAM_MAX_ROWS_PER_TRIGGER = long(
    "read.stream.maxRowsPerTrigger", None, "The maximum number of rows that a micro-batch reads.", check=at_least(1)
)
READ_STREAM_MIN_ROWS_PER_TRIGGER = long(
    "read.stream.minRowsPerTrigger", None, "The minimum number of rows that a micro-batch waits for.", check=at_least(1)
)
READ_STREAM_MAX_TRIGGER_DELAY_MS = long(
    "read.stream.maxTriggerDelayMs",
    None,
    "The maximum wait in milliseconds of a micro-batch for these rows.",
    check=at_least(1),
)
SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING = boolean(
    "source.split.target-size-with-column-pruning",
    "false",
    "Whether only the columns that are read count for the size of a split, by Spark's estimated widths.",
)
LEGACY_TIMESTAMP_MAPPING_ENABLED = boolean(
    "legacy-timestamp-mapping.enabled",
    "false",
    "Whether TIMESTAMP is shown as Spark's TIMESTAMP with time zone.",
    status=kept_for("Java's Spark connector"),
)
REQUIRED_SPARK_CONFS_CHECK_ENABLED = boolean(
    "requiredSparkConfsCheck.enabled",
    "true",
    "Whether a session's settings are checked at its start.",
    status=kept_for("Java's Spark connector"),
)
FORMAT_TABLE_REPAIR_COLLECT_STATISTICS = boolean(
    "format-table.repair.collect-statistics",
    "false",
    "Whether MSCK REPAIR TABLE reports the size of each partition of a format table to a catalog that lists them.",
)
FORMAT_TABLE_STATISTICS_PARALLELISM = integer(
    "format-table.statistics.parallelism",
    "8",
    "The number of partitions of a format table that are counted in parallel.",
    check=at_least(1),
    status=kept_for("Java's Spark connector"),
)
VECTOR_SEARCH_LATERAL_JOIN_PARALLELISM = integer(
    "vector-search.lateral-join.parallelism",
    "16",
    "The number of tasks over which the input of a lateral vector search is distributed.",
    check=at_least(1),
    status=kept_for("Java's Spark connector"),
)
