"""Options for Java engines only: Flink's jobs and lookups by key."""

from __future__ import annotations

from paimon_sql.format.options import values as option

flink_duration = option.duration.scoped(option.Scope.FLINK)
flink_integer = option.integer.scoped(option.Scope.FLINK)
flink_string = option.string.scoped(option.Scope.FLINK)

SINK_PROPERTY = flink_string("sink.<property>", None, "How Flink writes the table.")
SCAN_PARALLELISM = flink_integer("scan.parallelism", None, "The number of Flink tasks that read the table.")
SCAN_INFER_PARALLELISM = flink_string(
    "scan.infer-parallelism", "true", "Whether Flink infers the number of reading tasks."
)
SCAN_INFER_PARALLELISM_MAX = flink_integer(
    "scan.infer-parallelism.max", "1024", "The maximum inferred number of reading tasks."
)
SCAN_PARTITIONS = flink_string("scan.partitions", None, "The partitions that Flink reads, or max_pt() for the last.")
SCAN_WATERMARK_PROPERTY = flink_string(
    "scan.watermark.<property>", None, "How Flink generates watermarks from the rows."
)
SCAN_SPLIT_ENUMERATOR_PROPERTY = flink_string(
    "scan.split-enumerator.<property>", None, "How Flink assigns splits to its tasks."
)
SCAN_MAX_SNAPSHOT_COUNT = flink_integer(
    "scan.max-snapshot.count", "-1", "The maximum number of snapshots that Flink reads per checkpoint."
)
SCAN_REMOVE_NORMALIZE = flink_string(
    "scan.remove-normalize", "false", "Whether Flink treats the changelog as complete."
)
SCAN_BOUNDED = flink_string("scan.bounded", None, "Whether Flink's read is bounded.")
SCAN_DEDICATED_SPLIT_GENERATION = flink_string(
    "scan.dedicated-split-generation", "false", "Whether a dedicated Flink task plans the splits."
)
READ_SHUFFLE_BUCKET_WITH_PARTITION = flink_string(
    "read.shuffle-bucket-with-partition", "true", "Whether Flink shuffles by bucket and partition."
)
SOURCE_CHECKPOINT_ALIGN_PROPERTY = flink_string(
    "source.checkpoint-align.<property>", None, "Whether Flink's checkpoints wait for snapshots."
)
SOURCE_OPERATOR_UID_SUFFIX = flink_string(
    "source.operator-uid.suffix", None, "The suffix of the ids of Flink's operators."
)
LOOKUP_ASYNC = flink_string("lookup.async", "false", "Whether Flink's lookup join is asynchronous.")
LOOKUP_ASYNC_THREAD_NUMBER = flink_integer(
    "lookup.async-thread-number", "16", "The number of threads of the asynchronous lookup join."
)
LOOKUP_BOOTSTRAP_PARALLELISM = flink_integer(
    "lookup.bootstrap-parallelism", "4", "The number of files that Flink reads in parallel to start a lookup."
)
LOOKUP_CACHE = flink_string("lookup.cache", "auto", "What Flink's lookup join caches.")
LOOKUP_REFRESH_PROPERTY = flink_string("lookup.refresh.<property>", None, "How Flink refreshes a lookup table.")
LOOKUP_DYNAMIC_PARTITION_PROPERTY = flink_string(
    "lookup.dynamic-partition.<property>", None, "How Flink's lookup join follows the last partition."
)
PARTITION_IDLE_TIME_TO_DONE = flink_duration(
    "partition.idle-time-to-done", None, "The time without data after which Flink marks a partition as done."
)
PARTITION_TIME_INTERVAL = flink_duration(
    "partition.time-interval", None, "The time that a partition covers, for marking it as done."
)
PARTITION_MARK_DONE_ACTION_MODE = flink_string(
    "partition.mark-done-action.mode", "process-time", "Which clock marks a partition as done."
)
PARTITION_MARK_DONE_RECOVER_FROM_STATE = flink_string(
    "partition.mark-done.recover-from-state", "true", "Whether a restarted job marks partitions as done."
)
PRECOMMIT_COMPACT = flink_string(
    "precommit-compact",
    "false",
    "Whether Flink merges small files before it commits.",
    alternatives=("changelog.precommit-compact",),
)
CHANGELOG_PRECOMMIT_COMPACT_PROPERTY = flink_string(
    "changelog.precommit-compact.<property>", None, "How Flink merges small changelog files."
)
CHANGELOG_PRODUCER_COMPACTION_INTERVAL = flink_duration(
    "changelog-producer.compaction-interval", "0 s", "The interval between full compactions of Flink."
)
COMPACTION_BUCKET_DISTRIBUTION_STRATEGY = flink_string(
    "compaction.bucket-distribution-strategy", "linear", "How Flink distributes buckets to compact."
)
COMMIT_CUSTOM_LISTENERS = flink_string("commit.custom-listeners", "", "What Flink calls after a commit.")
UNAWARE_BUCKET_PROPERTY = flink_string(
    "unaware-bucket.<property>", None, "How Flink writes and compacts tables without buckets."
)
FILESYSTEM_JOB_LEVEL_SETTINGS_ENABLED = flink_string(
    "filesystem.job-level-settings.enabled", "true", "Whether a job's own file system settings apply."
)
LOG_PROPERTY = flink_string("log.<property>", None, "A log system that older versions wrote to.")


LOOKUP_CACHE_ROWS = option.long(
    "lookup.cache-rows",
    "10000",
    "The number of rows of a lookup table that are cached.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_FILE_RETENTION = option.duration(
    "lookup.cache-file-retention",
    "1 h",
    "The time for which a local lookup file is retained after its last use.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_DISK_SIZE = option.memory_size(
    "lookup.cache-max-disk-size",
    option.UNLIMITED_SIZE,
    "The maximum amount of local disk that lookup files use.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_MEMORY_SIZE = option.memory_size(
    "lookup.cache-max-memory-size",
    "256 mb",
    "The maximum memory of cached lookup data.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO = option.double(
    "lookup.cache.high-priority-pool-ratio",
    "0.25",
    "The fraction of that memory that is reserved for indexes and filters.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_SPILL_COMPRESSION = option.string(
    "lookup.cache-spill-compression",
    "zstd",
    "The compression of local lookup files.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_ENABLED = option.boolean(
    "lookup.cache.bloom.filter.enabled",
    "true",
    "Whether lookup files have a Bloom filter of their keys.",
    status=option.kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_FPP = option.double(
    "lookup.cache.bloom.filter.fpp",
    "0.05",
    "The false positive probability of that filter.",
    status=option.kept_for("Java engines"),
)
LOOKUP_HASH_LOAD_FACTOR = option.float_number(
    "lookup.hash-load-factor",
    "0.75",
    "The load factor of the hash tables of lookup files.",
    status=option.kept_for("compatibility: no current engine reads it"),
)
LOOKUP_CONTINUOUS_DISCOVERY_INTERVAL = option.duration(
    "lookup.continuous.discovery-interval",
    None,
    "The interval at which a lookup table is refreshed; defaults to that at which a stream checks for snapshots.",
    status=option.kept_for("Flink"),
)
LOOKUP_BLOB_AS_DESCRIPTOR = option.boolean(
    "lookup.blob-as-descriptor",
    "false",
    "Whether a lookup table stores references to blobs instead of their bytes.",
    status=option.kept_for("Flink"),
)
LOOKUP_REMOTE_FILE_ENABLED = option.boolean(
    "lookup.remote-file.enabled",
    "false",
    "Whether lookup files are stored beside the data and shared.",
    status=option.kept_for("Java engines"),
)
LOOKUP_REMOTE_FILE_LEVEL_THRESHOLD = option.integer(
    "lookup.remote-file.level-threshold",
    "-2147483648",
    "The level from which files get a stored lookup file.",
    status=option.kept_for("Java engines"),
)
LOOKUP_MERGE_BUFFER_SIZE = option.memory_size(
    "lookup.merge-buffer-size",
    "8 mb",
    "The maximum memory for merging the rows of one key in a lookup.",
    status=option.kept_for("Java engines"),
)
LOOKUP_MERGE_RECORDS_THRESHOLD = option.integer(
    "lookup.merge-records-threshold",
    "1024",
    "The number of rows of one key from which they are merged in a packed buffer.",
    status=option.kept_for("Java engines"),
)
LOCAL_KV_DB_BLOCK_SIZE = option.memory_size(
    "local-kv-db.block-size",
    "4 kb",
    "The size of a block in the local key-value store.",
    status=option.kept_for("Java engines"),
)
