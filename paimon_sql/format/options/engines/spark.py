"""Options of the Spark connector, for a session, a statement or a DataFrame."""

from __future__ import annotations

from paimon_sql.format.options.values import Kinds, Scope

option = Kinds(scope=Scope.SPARK)
java_spark = option.kept_for("Java's Spark connector")


WRITE_MERGE_SCHEMA = option.flag("write.merge-schema", "Whether a write adds columns that the table lacks.")
WRITE_MERGE_SCHEMA_TYPE_WIDENING = option.flag(
    "write.merge-schema.type-widening", "Whether such a write also widens the types of columns."
)
WRITE_MERGE_SCHEMA_EXPLICIT_CAST = option.flag(
    "write.merge-schema.explicit-cast", "Whether it may also narrow types and lose digits."
)
WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED = option.flag(
    "write.hive-style-dynamic-partition.enabled",
    "Whether INSERT without column names takes dynamic partition columns last, as Hive does.",
)
WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS = option.integer(
    "write.data-evolution.update-conflict-retry.max-attempts",
    "The maximum number of attempts of a change of single columns of rows that conflicts with concurrent changes.",
    "20",
)
WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS = option.long(
    "write.data-evolution.update-conflict-retry.wait-ms",
    "The wait in milliseconds between these attempts; if neither option is set, eight attempts are made with"
    " increasing waits.",
    "10",
)
READ_CHANGELOG = option.flag(
    "read.changelog",
    "Whether a stream shows the row kind of each row in an additional column.",
    alternatives=("readChangeFeed",),
    renamed=True,
)
READ_ALLOW_FULL_SCAN = option.boolean(
    "read.allow.fullScan", "Whether a query of a table with partitions may read all of its files.", "true"
)
READ_PUSH_DOWN_ENABLED = option.boolean(
    "read.push-down.enabled",
    "Whether conditions, limits, orders and aggregates of a query may be evaluated with metadata, indexes and"
    " readers; otherwise whole tables are read, and Spark computes everything.",
    "true",
)
READ_KEY_PRUNING_MIN_SIZE = option.memory_size(
    "read.key-pruning.min-size",
    "The size from which a scan skips files by the join keys of the other side, which Spark plans once more for that.",
    "64 mb",
)
STREAM_UNKNOWN_EPOCH = option.one_of("error", "skip", "commit")(
    "write.stream.unknown-epoch",
    "What a stream does with its first micro-batch after a restart if the table's history does not show any more"
    " whether it was committed: fail, skip it, or commit it.",
    "error",
)
READ_STREAM_MAX_FILES_PER_TRIGGER = option.integer.at_least(1)(
    "read.stream.maxFilesPerTrigger", "The maximum number of files that a micro-batch reads."
)
READ_STREAM_MAX_BYTES_PER_TRIGGER = option.long.at_least(1)(
    "read.stream.maxBytesPerTrigger", "The maximum number of bytes that a micro-batch reads."
)
READ_STREAM_MAX_ROWS_PER_TRIGGER = option.long.at_least(1)(
    "read.stream.maxRowsPerTrigger", "The maximum number of rows that a micro-batch reads."
)
READ_STREAM_MIN_ROWS_PER_TRIGGER = option.long.at_least(1)(
    "read.stream.minRowsPerTrigger", "The minimum number of rows that a micro-batch waits for."
)
READ_STREAM_MAX_TRIGGER_DELAY_MS = option.long.at_least(1)(
    "read.stream.maxTriggerDelayMs", "The maximum wait in milliseconds of a micro-batch for these rows."
)
SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING = option.flag(
    "source.split.target-size-with-column-pruning",
    "Whether only the columns that are read count for the size of a split, by Spark's estimated widths.",
)
FORMAT_TABLE_REPAIR_COLLECT_STATISTICS = option.flag(
    "format-table.repair.collect-statistics",
    "Whether MSCK REPAIR TABLE reports the size of each partition of a format table to a catalog that lists them.",
)

KEPT = (
    java_spark.flag("write.use-v2-write", "Whether Spark's own distributed write is used."),
    java_spark.flag(
        "legacy-timestamp-mapping.enabled", "Whether TIMESTAMP is shown as Spark's TIMESTAMP with time zone."
    ),
    java_spark.boolean(
        "requiredSparkConfsCheck.enabled", "Whether a session's settings are checked at its start.", "true"
    ),
    java_spark.integer.at_least(1)(
        "format-table.statistics.parallelism",
        "The number of partitions of a format table that are counted in parallel.",
        "8",
    ),
    java_spark.integer.at_least(1)(
        "vector-search.lateral-join.parallelism",
        "The number of tasks over which the input of a lateral vector search is distributed.",
        "16",
    ),
)
