"""Options for Java engines only: Flink's jobs and lookups by key."""

from __future__ import annotations

from paimon_sql.format.options.values import UNLIMITED_SIZE, Kinds, Scope, java, option, unread

flink = Kinds(scope=Scope.FLINK).kept_for("Flink")
kept_for_flink = option.kept_for("Flink")


KEPT = (
    flink.string("sink.<property>", "How Flink writes the table."),
    flink.integer("scan.parallelism", "The number of Flink tasks that read the table."),
    flink.string("scan.infer-parallelism", "Whether Flink infers the number of reading tasks.", "true"),
    flink.integer("scan.infer-parallelism.max", "The maximum inferred number of reading tasks.", "1024"),
    flink.string("scan.partitions", "The partitions that Flink reads, or max_pt() for the last."),
    flink.string("scan.watermark.<property>", "How Flink generates watermarks from the rows."),
    flink.string("scan.split-enumerator.<property>", "How Flink assigns splits to its tasks."),
    flink.integer("scan.max-snapshot.count", "The maximum number of snapshots that Flink reads per checkpoint.", "-1"),
    flink.string("scan.remove-normalize", "Whether Flink treats the changelog as complete.", "false"),
    flink.string("scan.bounded", "Whether Flink's read is bounded."),
    flink.string("scan.dedicated-split-generation", "Whether a dedicated Flink task plans the splits.", "false"),
    flink.string("read.shuffle-bucket-with-partition", "Whether Flink shuffles by bucket and partition.", "true"),
    flink.string("source.checkpoint-align.<property>", "Whether Flink's checkpoints wait for snapshots."),
    flink.string("source.operator-uid.suffix", "The suffix of the ids of Flink's operators."),
    flink.string("lookup.async", "Whether Flink's lookup join is asynchronous.", "false"),
    flink.integer("lookup.async-thread-number", "The number of threads of the asynchronous lookup join.", "16"),
    flink.integer(
        "lookup.bootstrap-parallelism", "The number of files that Flink reads in parallel to start a lookup.", "4"
    ),
    flink.string("lookup.cache", "What Flink's lookup join caches.", "auto"),
    flink.string("lookup.refresh.<property>", "How Flink refreshes a lookup table."),
    flink.string("lookup.dynamic-partition.<property>", "How Flink's lookup join follows the last partition."),
    flink.duration("partition.idle-time-to-done", "The time without data after which Flink marks a partition as done."),
    flink.duration("partition.time-interval", "The time that a partition covers, for marking it as done."),
    flink.string("partition.mark-done-action.mode", "Which clock marks a partition as done.", "process-time"),
    flink.string("partition.mark-done.recover-from-state", "Whether a restarted job marks partitions as done.", "true"),
    flink.string(
        "precommit-compact",
        "Whether Flink merges small files before it commits.",
        "false",
        alternatives=("changelog.precommit-compact",),
    ),
    flink.string("changelog.precommit-compact.<property>", "How Flink merges small changelog files."),
    flink.duration("changelog-producer.compaction-interval", "The interval between full compactions of Flink.", "0 s"),
    flink.string("compaction.bucket-distribution-strategy", "How Flink distributes buckets to compact.", "linear"),
    flink.string("commit.custom-listeners", "What Flink calls after a commit.", ""),
    flink.string("unaware-bucket.<property>", "How Flink writes and compacts tables without buckets."),
    flink.string("filesystem.job-level-settings.enabled", "Whether a job's own file system settings apply.", "true"),
    flink.string("log.<property>", "A log system that older versions wrote to."),
    java.long("lookup.cache-rows", "The number of rows of a lookup table that are cached.", "10000"),
    java.duration(
        "lookup.cache-file-retention", "The time for which a local lookup file is retained after its last use.", "1 h"
    ),
    java.memory_size(
        "lookup.cache-max-disk-size", "The maximum amount of local disk that lookup files use.", UNLIMITED_SIZE
    ),
    java.memory_size("lookup.cache-max-memory-size", "The maximum memory of cached lookup data.", "256 mb"),
    java.double(
        "lookup.cache.high-priority-pool-ratio",
        "The fraction of that memory that is reserved for indexes and filters.",
        "0.25",
    ),
    java.string("lookup.cache-spill-compression", "The compression of local lookup files.", "zstd"),
    java.boolean(
        "lookup.cache.bloom.filter.enabled", "Whether lookup files have a Bloom filter of their keys.", "true"
    ),
    java.double("lookup.cache.bloom.filter.fpp", "The false positive probability of that filter.", "0.05"),
    unread.float_number("lookup.hash-load-factor", "The load factor of the hash tables of lookup files.", "0.75"),
    kept_for_flink.duration(
        "lookup.continuous.discovery-interval",
        "The interval at which a lookup table is refreshed; defaults to that at which a stream checks for snapshots.",
    ),
    kept_for_flink.flag(
        "lookup.blob-as-descriptor", "Whether a lookup table stores references to blobs instead of their bytes."
    ),
    java.flag("lookup.remote-file.enabled", "Whether lookup files are stored beside the data and shared."),
    java.integer(
        "lookup.remote-file.level-threshold", "The level from which files get a stored lookup file.", "-2147483648"
    ),
    java.memory_size(
        "lookup.merge-buffer-size", "The maximum memory for merging the rows of one key in a lookup.", "8 mb"
    ),
    java.integer(
        "lookup.merge-records-threshold",
        "The number of rows of one key from which they are merged in a packed buffer.",
        "1024",
    ),
    java.memory_size("local-kv-db.block-size", "The size of a block in the local key-value store.", "4 kb"),
)
