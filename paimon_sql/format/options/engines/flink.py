"""Options for Java engines only: Flink's jobs and lookups by key."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    UNLIMITED_SIZE,
    Scope,
    boolean,
    double,
    duration,
    float_number,
    integer,
    kept_for,
    long,
    memory_size,
    string,
)

SINK_PROPERTY = string("sink.<property>", None, "How Flink writes the table.", scope=Scope.FLINK)
SCAN_PARALLELISM = integer(
    "scan.parallelism", None, "The number of Flink tasks that read the table.", scope=Scope.FLINK
)
SCAN_INFER_PARALLELISM = string(
    "scan.infer-parallelism", "true", "Whether Flink infers the number of reading tasks.", scope=Scope.FLINK
)
SCAN_INFER_PARALLELISM_MAX = integer(
    "scan.infer-parallelism.max", "1024", "The maximum inferred number of reading tasks.", scope=Scope.FLINK
)
SCAN_PARTITIONS = string(
    "scan.partitions", None, "The partitions that Flink reads, or max_pt() for the last.", scope=Scope.FLINK
)
SCAN_WATERMARK_PROPERTY = string(
    "scan.watermark.<property>", None, "How Flink generates watermarks from the rows.", scope=Scope.FLINK
)
SCAN_SPLIT_ENUMERATOR_PROPERTY = string(
    "scan.split-enumerator.<property>", None, "How Flink assigns splits to its tasks.", scope=Scope.FLINK
)
SCAN_MAX_SNAPSHOT_COUNT = integer(
    "scan.max-snapshot.count",
    "-1",
    "The maximum number of snapshots that Flink reads per checkpoint.",
    scope=Scope.FLINK,
)
SCAN_REMOVE_NORMALIZE = string(
    "scan.remove-normalize", "false", "Whether Flink treats the changelog as complete.", scope=Scope.FLINK
)
SCAN_BOUNDED = string("scan.bounded", None, "Whether Flink's read is bounded.", scope=Scope.FLINK)
SCAN_DEDICATED_SPLIT_GENERATION = string(
    "scan.dedicated-split-generation", "false", "Whether a dedicated Flink task plans the splits.", scope=Scope.FLINK
)
READ_SHUFFLE_BUCKET_WITH_PARTITION = string(
    "read.shuffle-bucket-with-partition",
    "true",
    "Whether Flink shuffles by bucket and partition.",
    scope=Scope.FLINK,
)
SOURCE_CHECKPOINT_ALIGN_PROPERTY = string(
    "source.checkpoint-align.<property>", None, "Whether Flink's checkpoints wait for snapshots.", scope=Scope.FLINK
)
SOURCE_OPERATOR_UID_SUFFIX = string(
    "source.operator-uid.suffix", None, "The suffix of the ids of Flink's operators.", scope=Scope.FLINK
)
LOOKUP_ASYNC = string("lookup.async", "false", "Whether Flink's lookup join is asynchronous.", scope=Scope.FLINK)
LOOKUP_ASYNC_THREAD_NUMBER = integer(
    "lookup.async-thread-number", "16", "The number of threads of the asynchronous lookup join.", scope=Scope.FLINK
)
LOOKUP_BOOTSTRAP_PARALLELISM = integer(
    "lookup.bootstrap-parallelism",
    "4",
    "The number of files that Flink reads in parallel to start a lookup.",
    scope=Scope.FLINK,
)
LOOKUP_CACHE = string("lookup.cache", "auto", "What Flink's lookup join caches.", scope=Scope.FLINK)
LOOKUP_REFRESH_PROPERTY = string(
    "lookup.refresh.<property>", None, "How Flink refreshes a lookup table.", scope=Scope.FLINK
)
LOOKUP_DYNAMIC_PARTITION_PROPERTY = string(
    "lookup.dynamic-partition.<property>",
    None,
    "How Flink's lookup join follows the last partition.",
    scope=Scope.FLINK,
)
PARTITION_IDLE_TIME_TO_DONE = duration(
    "partition.idle-time-to-done",
    None,
    "The time without data after which Flink marks a partition as done.",
    scope=Scope.FLINK,
)
PARTITION_TIME_INTERVAL = duration(
    "partition.time-interval", None, "The time that a partition covers, for marking it as done.", scope=Scope.FLINK
)
PARTITION_MARK_DONE_ACTION_MODE = string(
    "partition.mark-done-action.mode", "process-time", "Which clock marks a partition as done.", scope=Scope.FLINK
)
PARTITION_MARK_DONE_RECOVER_FROM_STATE = string(
    "partition.mark-done.recover-from-state",
    "true",
    "Whether a restarted job marks partitions as done.",
    scope=Scope.FLINK,
)
PRECOMMIT_COMPACT = string(
    "precommit-compact",
    "false",
    "Whether Flink merges small files before it commits.",
    scope=Scope.FLINK,
    alternatives=("changelog.precommit-compact",),
)
CHANGELOG_PRECOMMIT_COMPACT_PROPERTY = string(
    "changelog.precommit-compact.<property>", None, "How Flink merges small changelog files.", scope=Scope.FLINK
)
CHANGELOG_PRODUCER_COMPACTION_INTERVAL = duration(
    "changelog-producer.compaction-interval",
    "0 s",
    "The interval between full compactions of Flink.",
    scope=Scope.FLINK,
)
COMPACTION_BUCKET_DISTRIBUTION_STRATEGY = string(
    "compaction.bucket-distribution-strategy", "linear", "How Flink distributes buckets to compact.", scope=Scope.FLINK
)
COMMIT_CUSTOM_LISTENERS = string("commit.custom-listeners", "", "What Flink calls after a commit.", scope=Scope.FLINK)
UNAWARE_BUCKET_PROPERTY = string(
    "unaware-bucket.<property>", None, "How Flink writes and compacts tables without buckets.", scope=Scope.FLINK
)
FILESYSTEM_JOB_LEVEL_SETTINGS_ENABLED = string(
    "filesystem.job-level-settings.enabled",
    "true",
    "Whether a job's own file system settings apply.",
    scope=Scope.FLINK,
)
LOG_PROPERTY = string("log.<property>", None, "A log system that older versions wrote to.", scope=Scope.FLINK)


LOOKUP_CACHE_ROWS = long(
    "lookup.cache-rows",
    "10000",
    "The number of rows of a lookup table that are cached.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_FILE_RETENTION = duration(
    "lookup.cache-file-retention",
    "1 h",
    "The time for which a local lookup file is retained after its last use.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_DISK_SIZE = memory_size(
    "lookup.cache-max-disk-size",
    UNLIMITED_SIZE,
    "The maximum amount of local disk that lookup files use.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_MEMORY_SIZE = memory_size(
    "lookup.cache-max-memory-size",
    "256 mb",
    "The maximum memory of cached lookup data.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO = double(
    "lookup.cache.high-priority-pool-ratio",
    "0.25",
    "The fraction of that memory that is reserved for indexes and filters.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_SPILL_COMPRESSION = string(
    "lookup.cache-spill-compression",
    "zstd",
    "The compression of local lookup files.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_ENABLED = boolean(
    "lookup.cache.bloom.filter.enabled",
    "true",
    "Whether lookup files have a Bloom filter of their keys.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_FPP = double(
    "lookup.cache.bloom.filter.fpp",
    "0.05",
    "The false positive probability of that filter.",
    status=kept_for("Java engines"),
)
LOOKUP_HASH_LOAD_FACTOR = float_number(
    "lookup.hash-load-factor",
    "0.75",
    "The load factor of the hash tables of lookup files.",
    status=kept_for("compatibility: no current engine reads it"),
)
LOOKUP_CONTINUOUS_DISCOVERY_INTERVAL = duration(
    "lookup.continuous.discovery-interval",
    None,
    "The interval at which a lookup table is refreshed; defaults to that at which a stream checks for snapshots.",
    status=kept_for("Flink"),
)
LOOKUP_BLOB_AS_DESCRIPTOR = boolean(
    "lookup.blob-as-descriptor",
    "false",
    "Whether a lookup table stores references to blobs instead of their bytes.",
    status=kept_for("Flink"),
)
LOOKUP_REMOTE_FILE_ENABLED = boolean(
    "lookup.remote-file.enabled",
    "false",
    "Whether lookup files are stored beside the data and shared.",
    status=kept_for("Java engines"),
)
LOOKUP_REMOTE_FILE_LEVEL_THRESHOLD = integer(
    "lookup.remote-file.level-threshold",
    "-2147483648",
    "The level from which files get a stored lookup file.",
    status=kept_for("Java engines"),
)
LOOKUP_MERGE_BUFFER_SIZE = memory_size(
    "lookup.merge-buffer-size",
    "8 mb",
    "The maximum memory for merging the rows of one key in a lookup.",
    status=kept_for("Java engines"),
)
LOOKUP_MERGE_RECORDS_THRESHOLD = integer(
    "lookup.merge-records-threshold",
    "1024",
    "The number of rows of one key from which they are merged in a packed buffer.",
    status=kept_for("Java engines"),
)
LOCAL_KV_DB_BLOCK_SIZE = memory_size(
    "local-kv-db.block-size",
    "4 kb",
    "The size of a block in the local key-value store.",
    status=kept_for("Java engines"),
)
