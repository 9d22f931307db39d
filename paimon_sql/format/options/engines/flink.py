"""Options for Flink jobs only; a table that both engines use may have them."""

from __future__ import annotations

from paimon_sql.format.options.values import Scope, duration, integer, string

SINK_PROPERTY = string("sink.<property>", None, "How Flink writes the table.", scope=Scope.FLINK)
SCAN_PARALLELISM = integer("scan.parallelism", None, "How many tasks of Flink read the table.", scope=Scope.FLINK)
SCAN_INFER_PARALLELISM = string(
    "scan.infer-parallelism", "true", "Whether Flink finds the number of reading tasks.", scope=Scope.FLINK
)
SCAN_INFER_PARALLELISM_MAX = integer(
    "scan.infer-parallelism.max", "1024", "The greatest such number.", scope=Scope.FLINK
)
SCAN_PARTITIONS = string(
    "scan.partitions", None, "The partitions that Flink reads, or max_pt() for the last.", scope=Scope.FLINK
)
SCAN_WATERMARK_PROPERTY = string(
    "scan.watermark.<property>", None, "How Flink makes watermarks of the rows.", scope=Scope.FLINK
)
SCAN_SPLIT_ENUMERATOR_PROPERTY = string(
    "scan.split-enumerator.<property>", None, "How Flink hands splits to its tasks.", scope=Scope.FLINK
)
SCAN_MAX_SNAPSHOT_COUNT = integer(
    "scan.max-snapshot.count", "-1", "How many snapshots Flink reads a checkpoint.", scope=Scope.FLINK
)
SCAN_REMOVE_NORMALIZE = string(
    "scan.remove-normalize", "false", "Whether Flink takes the changelog as complete.", scope=Scope.FLINK
)
SCAN_BOUNDED = string("scan.bounded", None, "Whether Flink's read ends.", scope=Scope.FLINK)
SCAN_DEDICATED_SPLIT_GENERATION = string(
    "scan.dedicated-split-generation", "false", "Whether a task of Flink plans the splits.", scope=Scope.FLINK
)
READ_SHUFFLE_BUCKET_WITH_PARTITION = string(
    "read.shuffle-bucket-with-partition",
    "true",
    "Whether Flink spreads buckets of each partition anew.",
    scope=Scope.FLINK,
)
SOURCE_CHECKPOINT_ALIGN_PROPERTY = string(
    "source.checkpoint-align.<property>", None, "Whether Flink's checkpoints wait for snapshots.", scope=Scope.FLINK
)
SOURCE_OPERATOR_UID_SUFFIX = string(
    "source.operator-uid.suffix", None, "How the ids of Flink's operators end.", scope=Scope.FLINK
)
LOOKUP_ASYNC = string(
    "lookup.async", "false", "Whether Flink's look-up join works in the background.", scope=Scope.FLINK
)
LOOKUP_ASYNC_THREAD_NUMBER = integer(
    "lookup.async-thread-number", "16", "How many threads that takes.", scope=Scope.FLINK
)
LOOKUP_BOOTSTRAP_PARALLELISM = integer(
    "lookup.bootstrap-parallelism", "4", "How many files at a time Flink reads to start a look-up.", scope=Scope.FLINK
)
LOOKUP_CACHE = string("lookup.cache", "auto", "What Flink's look-up join caches.", scope=Scope.FLINK)
LOOKUP_REFRESH_PROPERTY = string(
    "lookup.refresh.<property>", None, "How Flink refreshes a look-up table.", scope=Scope.FLINK
)
LOOKUP_DYNAMIC_PARTITION_PROPERTY = string(
    "lookup.dynamic-partition.<property>",
    None,
    "How Flink's look-up join follows the last partition.",
    scope=Scope.FLINK,
)
PARTITION_IDLE_TIME_TO_DONE = duration(
    "partition.idle-time-to-done", None, "After what time without data Flink marks a partition done.", scope=Scope.FLINK
)
PARTITION_TIME_INTERVAL = duration(
    "partition.time-interval", None, "What span of time a partition covers, for marking it done.", scope=Scope.FLINK
)
PARTITION_MARK_DONE_ACTION_MODE = string(
    "partition.mark-done-action.mode", "process-time", "Which clock marks a partition done.", scope=Scope.FLINK
)
PARTITION_MARK_DONE_RECOVER_FROM_STATE = string(
    "partition.mark-done.recover-from-state",
    "true",
    "Whether a restarted job marks partitions done.",
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
    "changelog-producer.compaction-interval", "0 s", "How often Flink compacts fully.", scope=Scope.FLINK
)
COMPACTION_BUCKET_DISTRIBUTION_STRATEGY = string(
    "compaction.bucket-distribution-strategy", "linear", "How Flink spreads buckets to compact.", scope=Scope.FLINK
)
COMMIT_CUSTOM_LISTENERS = string("commit.custom-listeners", "", "What Flink calls after a commit.", scope=Scope.FLINK)
UNAWARE_BUCKET_PROPERTY = string(
    "unaware-bucket.<property>", None, "How Flink writes and compacts tables without buckets.", scope=Scope.FLINK
)
FILESYSTEM_JOB_LEVEL_SETTINGS_ENABLED = string(
    "filesystem.job-level-settings.enabled", "true", "Whether a job's own file system settings hold.", scope=Scope.FLINK
)
LOG_PROPERTY = string("log.<property>", None, "A log system that older versions wrote to.", scope=Scope.FLINK)
