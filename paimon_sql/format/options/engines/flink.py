"""Options for Flink jobs only; a table that both engines use may have them."""

from __future__ import annotations

from paimon_sql.format.options.values import Scope, duration, integer, string

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
