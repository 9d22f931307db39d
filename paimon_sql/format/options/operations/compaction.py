"""Options of compaction: triggers, levels, clustering."""

from __future__ import annotations

from paimon_sql.format.options.values import fixed, java, option

kept_for_flink = option.kept_for("Flink")


def _hour(value: int) -> str | None:
    return None if -1 <= value <= 23 else "it must be an hour from 0 to 23, or -1"


WRITE_ONLY = option.flag(
    "write-only",
    "Whether writers skip compaction and expiration, so that a dedicated job runs them.",
    alternatives=("write.compaction-skip",),
)
NUM_SORTED_RUNS_COMPACTION_TRIGGER = option.integer.at_least(1)(
    "num-sorted-run.compaction-trigger",
    "The number of sorted runs (files of level 0 and deeper levels) from which a bucket is compacted.",
    "5",
)
NUM_SORTED_RUNS_STOP_TRIGGER = option.integer.at_least(1)(
    "num-sorted-run.stop-trigger",
    "The number of sorted runs of a bucket from which a stream's writer waits; also the number of runs that a merge"
    " keeps open at a time.",
)
NUM_LEVELS = option.integer.at_least(2)(
    "num-levels", "The number of levels of a bucket; defaults to the compaction trigger plus one."
)
FULL_COMPACTION_DELTA_COMMITS = option.integer(
    "full-compaction.delta-commits",
    "The number of commits after which a stream compacts fully; a batch write compacts fully each time if this is"
    " above 0.",
)
COMPACTION_OPTIMIZATION_INTERVAL = option.duration(
    "compaction.optimization-interval",
    "The interval between full compactions of a bucket, so that read-optimized reads stay fresh.",
)
COMPACTION_TOTAL_SIZE_THRESHOLD = option.memory_size(
    "compaction.total-size-threshold", "The size below which a bucket is always compacted fully."
)
COMPACTION_INCREMENTAL_SIZE_THRESHOLD = option.memory_size(
    "compaction.incremental-size-threshold",
    "The size of the data above the max level from which a bucket is compacted fully.",
)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = option.integer(
    "compaction.max-size-amplification-percent",
    "The size of the newer runs, as a percentage of the max level, from which a bucket is compacted fully.",
    "200",
)
COMPACTION_SIZE_RATIO = option.integer(
    "compaction.size-ratio",
    "The percentage by which the picked runs may be smaller than the next run for it to be included.",
    "1",
)
COMPACTION_OFFPEAK_START_HOUR = option.integer.checked(_hour)(
    "compaction.offpeak.start.hour", "The hour at which off-peak time starts; -1 for none.", "-1"
)
COMPACTION_OFFPEAK_END_HOUR = option.integer.checked(_hour)(
    "compaction.offpeak.end.hour", "The hour before which off-peak time ends; -1 for none.", "-1"
)
COMPACTION_OFFPEAK_RATIO = option.integer(
    "compaction.offpeak-ratio",
    "The percentage that is added to the size ratio in off-peak time, by the machine's clock.",
    "0",
)
COMPACTION_MIN_FILE_NUM = option.integer.at_least(1)(
    "compaction.min.file-num", "The number of small files from which an append table is compacted.", "5"
)
COMPACTION_SMALL_FILE_RATIO = option.double(
    "compaction.small-file-ratio", "The fraction of the target size below which a file is small.", "0.7"
)
COMPACTION_DELETE_RATIO_THRESHOLD = option.double(
    "compaction.delete-ratio-threshold", "The fraction of deleted rows from which a file is rewritten.", "0.2"
)
COMPACTION_FORCE_UP_LEVEL_0 = option.flag(
    "compaction.force-up-level-0", "Whether every compaction includes all files of level 0."
)
COMPACTION_FORCE_REWRITE_ALL_FILES = option.flag(
    "compaction.force-rewrite-all-files",
    "Whether a full compaction also rewrites files that do not need it, for example to move data.",
)
COMPACTION_SKIP_EXPIRED_PARTITIONS = option.flag(
    "compaction.skip-expired-partitions", "Whether compaction skips expired partitions."
)
FORCE_LOOKUP = fixed.flag("force-lookup", "Whether compaction looks up old rows even if no other option requires it.")
LOOKUP_COMPACT = option.one_of("RADICAL", "GENTLE")(
    "lookup-compact", "Whether lookup compaction includes new files immediately or waits for more of them.", "RADICAL"
)
LOOKUP_COMPACT_MAX_INTERVAL = option.integer.at_least(1)(
    "lookup-compact.max-interval",
    "The maximum number of compactions after which a gentle lookup compaction includes the new files.",
)
CLUSTERING_COLUMNS = option.string(
    "clustering.columns",
    "The columns, comma-separated, by which the rows of an append table are clustered.",
    alternatives=("sink.clustering.by-columns",),
)
CLUSTERING_STRATEGY = option.one_of(
    "auto", "order", "zorder", "hilbert", registry="paimon_sql.storage.write.clustering.clustering:LAYOUTS.keys"
)(
    "clustering.strategy",
    "How rows are ordered; auto decides by the number of columns.",
    "auto",
    alternatives=("sink.clustering.strategy",),
)
CLUSTERING_INCREMENTAL = option.flag(
    "clustering.incremental", "Whether compaction keeps an append table clustered as it grows."
)
CLUSTERING_INCREMENTAL_MODE = option.one_of("global-sort", "local-sort")(
    "clustering.incremental.mode",
    "Whether clustering orders rows across all files or within the files of each task.",
    "global-sort",
)
CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE = option.flag(
    "clustering.incremental.optimize-write", "Whether new rows are clustered before they are written."
)
CLUSTERING_HISTORY_PARTITION_LIMIT = option.integer(
    "clustering.history-partition.limit",
    "The maximum number of idle partitions that a clustering run orders fully.",
    "5",
)
CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT = option.duration(
    "clustering.history-partition.idle-to-full-sort", "The time without data after which a partition is idle."
)
PK_CLUSTERING_OVERRIDE = fixed.refused(
    "files are ordered by the key here; the compacted files of such a table can be read"
).flag(
    "pk-clustering-override",
    "Whether the files of a primary-key table are ordered by the clustering columns instead of the key.",
)
ZORDER_VAR_LENGTH_CONTRIBUTION = option.integer.at_least(1)(
    "zorder.var-length-contribution",
    "The number of bytes of a string or binary value that contribute to the z-order.",
    "8",
)

KEPT = (
    java.integer(
        "compaction.file-num-limit",
        "The maximum number of files that the plan of an append table's compaction holds at a time.",
        "100000",
    ),
    java.boolean(
        "lookup-wait",
        "Whether a stream's commit waits for the compaction that looks up old rows; a statement always does.",
        "true",
        alternatives=("changelog-producer.lookup-wait",),
    ),
    kept_for_flink.one_of("SIZE", "QUANTITY")(
        "sort-compaction.range-strategy",
        "Whether ordering by ranges gives each task the same amount of data or the same number of rows.",
        "SIZE",
    ),
    kept_for_flink.integer.at_least(20)(
        "sort-compaction.local-sample.magnification",
        "The number of rows of each task that are sampled to determine the ranges, as a multiple of the number of"
        " tasks.",
        "1000",
    ),
)
