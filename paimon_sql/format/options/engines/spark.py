"""Options of the Spark connector, for a session, a statement or a DataFrame."""

from __future__ import annotations

from paimon_sql.format.options.values import Scope, at_least, boolean, choice, integer, kept_for, long, memory_size

WRITE_MERGE_SCHEMA = boolean(
    "write.merge-schema", "false", "Whether a write adds columns that the table lacks.", scope=Scope.SPARK
)
WRITE_MERGE_SCHEMA_TYPE_WIDENING = boolean(
    "write.merge-schema.type-widening",
    "false",
    "Whether such a write also widens the types of columns.",
    scope=Scope.SPARK,
)
WRITE_MERGE_SCHEMA_EXPLICIT_CAST = boolean(
    "write.merge-schema.explicit-cast", "false", "Whether it may also narrow types and lose digits.", scope=Scope.SPARK
)
WRITE_USE_V2_WRITE = boolean(
    "write.use-v2-write",
    "false",
    "Whether Spark's own distributed write is used.",
    scope=Scope.SPARK,
    status=kept_for("Java's Spark connector"),
)
WRITE_HIVE_STYLE_DYNAMIC_PARTITION_ENABLED = boolean(
    "write.hive-style-dynamic-partition.enabled",
    "false",
    "Whether INSERT without column names takes dynamic partition columns last, as Hive does.",
    scope=Scope.SPARK,
)
WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS = integer(
    "write.data-evolution.update-conflict-retry.max-attempts",
    "20",
    "How often a change of single columns of rows is tried where others change them too.",
    scope=Scope.SPARK,
)
WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS = long(
    "write.data-evolution.update-conflict-retry.wait-ms",
    "10",
    "How many milliseconds lie between two such tries; without either option eight are made, ever farther apart.",
    scope=Scope.SPARK,
)
READ_CHANGELOG = boolean(
    "read.changelog",
    "false",
    "Whether a stream shows what each row does in a column of its own.",
    scope=Scope.SPARK,
    alternatives=("readChangeFeed",),
    renamed=True,
)
READ_ALLOW_FULL_SCAN = boolean(
    "read.allow.fullScan",
    "true",
    "Whether a query of a table with partitions may read all of its files.",
    scope=Scope.SPARK,
)
READ_PUSH_DOWN_ENABLED = boolean(
    "read.push-down.enabled",
    "true",
    "Whether conditions, limits, orders and aggregates of a query may be answered by metadata, indexes and readers;"
    " without it whole tables are read, and Spark computes everything by itself.",
    scope=Scope.SPARK,
)
READ_KEY_PRUNING_MIN_SIZE = memory_size(
    "read.key-pruning.min-size",
    "64 mb",
    "From how many bytes on a scan leaves out files by the keys on the other side of a join, which Spark plans once"
    " more for that.",
    scope=Scope.SPARK,
)
STREAM_UNKNOWN_EPOCH = choice(
    "write.stream.unknown-epoch",
    "error",
    "What a stream does with its first micro-batch after a restart if the table's history does not say any more whether"
    " it was committed: end with an error, leave it out, or commit it.",
    ("error", "skip", "commit"),
    scope=Scope.SPARK,
)
READ_STREAM_MAX_FILES_PER_TRIGGER = integer(
    "read.stream.maxFilesPerTrigger",
    None,
    "How many files a micro-batch reads at most.",
    scope=Scope.SPARK,
    check=at_least(1),
)
READ_STREAM_MAX_BYTES_PER_TRIGGER = long(
    "read.stream.maxBytesPerTrigger",
    None,
    "How many bytes a micro-batch reads at most.",
    scope=Scope.SPARK,
    check=at_least(1),
)
READ_STREAM_MAX_ROWS_PER_TRIGGER = long(
    "read.stream.maxRowsPerTrigger",
    None,
    "How many rows a micro-batch reads at most.",
    scope=Scope.SPARK,
    check=at_least(1),
)
READ_STREAM_MIN_ROWS_PER_TRIGGER = long(
    "read.stream.minRowsPerTrigger",
    None,
    "For how many rows a micro-batch waits.",
    scope=Scope.SPARK,
    check=at_least(1),
)
READ_STREAM_MAX_TRIGGER_DELAY_MS = long(
    "read.stream.maxTriggerDelayMs",
    None,
    "How many milliseconds a micro-batch waits for these rows at most.",
    scope=Scope.SPARK,
    check=at_least(1),
)
SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING = boolean(
    "source.split.target-size-with-column-pruning",
    "false",
    "Whether only the columns that are read count for the size of a split, by the widths that Spark reckons with.",
    scope=Scope.SPARK,
)
LEGACY_TIMESTAMP_MAPPING_ENABLED = boolean(
    "legacy-timestamp-mapping.enabled",
    "false",
    "Whether TIMESTAMP is shown as Spark's TIMESTAMP with time zone.",
    scope=Scope.SPARK,
    status=kept_for("Java's Spark connector"),
)
REQUIRED_SPARK_CONFS_CHECK_ENABLED = boolean(
    "requiredSparkConfsCheck.enabled",
    "true",
    "Whether a session's settings are checked at its start.",
    scope=Scope.SPARK,
    status=kept_for("Java's Spark connector"),
)
FORMAT_TABLE_REPAIR_COLLECT_STATISTICS = boolean(
    "format-table.repair.collect-statistics",
    "false",
    "Whether MSCK REPAIR TABLE tells a catalog that lists the partitions of a format table the size of each.",
    scope=Scope.SPARK,
)
FORMAT_TABLE_STATISTICS_PARALLELISM = integer(
    "format-table.statistics.parallelism",
    "8",
    "How many partitions of a format table are counted at a time.",
    scope=Scope.SPARK,
    check=at_least(1),
    status=kept_for("Java's Spark connector"),
)
VECTOR_SEARCH_LATERAL_JOIN_PARALLELISM = integer(
    "vector-search.lateral-join.parallelism",
    "16",
    "Over how many tasks the input of a lateral vector search is spread.",
    scope=Scope.SPARK,
    check=at_least(1),
    status=kept_for("Java's Spark connector"),
)
