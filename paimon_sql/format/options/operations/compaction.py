"""Options of compaction: triggers, levels, clustering."""

from __future__ import annotations

from paimon_sql.format.options import values as option


def _hour(value: int) -> str | None:
    return None if -1 <= value <= 23 else "it must be an hour from 0 to 23, or -1"


WRITE_ONLY = option.boolean(
    "write-only",
    "false",
    "Whether writers skip compaction and expiration, so that a dedicated job runs them.",
    alternatives=("write.compaction-skip",),
)
NUM_SORTED_RUNS_COMPACTION_TRIGGER = option.integer(
    "num-sorted-run.compaction-trigger",
    "5",
    "The number of sorted runs (files of level 0 and deeper levels) from which a bucket is compacted.",
    check=option.at_least(1),
)
NUM_SORTED_RUNS_STOP_TRIGGER = option.integer(
    "num-sorted-run.stop-trigger",
    None,
    "The number of sorted runs of a bucket from which a stream's writer waits; also the number of runs that a merge"
    " keeps open at a time.",
    check=option.at_least(1),
)
NUM_LEVELS = option.integer(
    "num-levels",
    None,
    "The number of levels of a bucket; defaults to the compaction trigger plus one.",
    check=option.at_least(2),
)
FULL_COMPACTION_DELTA_COMMITS = option.integer(
    "full-compaction.delta-commits",
    None,
    "The number of commits after which a stream compacts fully; a batch write compacts fully each time if this is"
    " above 0.",
)
COMPACTION_OPTIMIZATION_INTERVAL = option.duration(
    "compaction.optimization-interval",
    None,
    "The interval between full compactions of a bucket, so that read-optimized reads stay fresh.",
)
COMPACTION_TOTAL_SIZE_THRESHOLD = option.memory_size(
    "compaction.total-size-threshold", None, "The size below which a bucket is always compacted fully."
)
COMPACTION_INCREMENTAL_SIZE_THRESHOLD = option.memory_size(
    "compaction.incremental-size-threshold",
    None,
    "The size of the data above the max level from which a bucket is compacted fully.",
)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = option.integer(
    "compaction.max-size-amplification-percent",
    "200",
    "The size of the newer runs, as a percentage of the max level, from which a bucket is compacted fully.",
)
COMPACTION_SIZE_RATIO = option.integer(
    "compaction.size-ratio",
    "1",
    "The percentage by which the picked runs may be smaller than the next run for it to be included.",
)
COMPACTION_OFFPEAK_START_HOUR = option.integer(
    "compaction.offpeak.start.hour", "-1", "The hour at which off-peak time starts; -1 for none.", check=_hour
)
COMPACTION_OFFPEAK_END_HOUR = option.integer(
    "compaction.offpeak.end.hour", "-1", "The hour before which off-peak time ends; -1 for none.", check=_hour
)
COMPACTION_OFFPEAK_RATIO = option.integer(
    "compaction.offpeak-ratio",
    "0",
    "The percentage that is added to the size ratio in off-peak time, by the machine's clock.",
)
COMPACTION_MIN_FILE_NUM = option.integer(
    "compaction.min.file-num",
    "5",
    "The number of small files from which an append table is compacted.",
    check=option.at_least(1),
)
COMPACTION_SMALL_FILE_RATIO = option.double(
    "compaction.small-file-ratio", "0.7", "The fraction of the target size below which a file is small."
)
COMPACTION_DELETE_RATIO_THRESHOLD = option.double(
    "compaction.delete-ratio-threshold", "0.2", "The fraction of deleted rows from which a file is rewritten."
)
COMPACTION_FILE_NUM_LIMIT = option.integer(
    "compaction.file-num-limit",
    "100000",
    "The maximum number of files that the plan of an append table's compaction holds at a time.",
    status=option.kept_for("Java engines"),
)
COMPACTION_FORCE_UP_LEVEL_0 = option.boolean(
    "compaction.force-up-level-0", "false", "Whether every compaction includes all files of level 0."
)
COMPACTION_FORCE_REWRITE_ALL_FILES = option.boolean(
    "compaction.force-rewrite-all-files",
    "false",
    "Whether a full compaction also rewrites files that do not need it, for example to move data.",
)
COMPACTION_SKIP_EXPIRED_PARTITIONS = option.boolean(
    "compaction.skip-expired-partitions", "false", "Whether compaction skips expired partitions."
)
FORCE_LOOKUP = option.boolean(
    "force-lookup", "false", "Whether compaction looks up old rows even if no other option requires it.", immutable=True
)
LOOKUP_WAIT = option.boolean(
    "lookup-wait",
    "true",
    "Whether a stream's commit waits for the compaction that looks up old rows; a statement always does.",
    alternatives=("changelog-producer.lookup-wait",),
    status=option.kept_for("Java engines"),
)
LOOKUP_COMPACT = option.choice(
    "lookup-compact",
    "RADICAL",
    "Whether lookup compaction includes new files immediately or waits for more of them.",
    ("RADICAL", "GENTLE"),
)
LOOKUP_COMPACT_MAX_INTERVAL = option.integer(
    "lookup-compact.max-interval",
    None,
    "The maximum number of compactions after which a gentle lookup compaction includes the new files.",
    check=option.at_least(1),
)
CLUSTERING_COLUMNS = option.string(
    "clustering.columns",
    None,
    "The columns, comma-separated, by which the rows of an append table are clustered.",
    alternatives=("sink.clustering.by-columns",),
)
CLUSTERING_STRATEGY = option.choice(
    "clustering.strategy",
    "auto",
    "How rows are ordered; auto decides by the number of columns.",
    ("auto", "order", "zorder", "hilbert"),
    registry="paimon_sql.storage.write.clustering.clustering:LAYOUTS.keys",
    alternatives=("sink.clustering.strategy",),
)
CLUSTERING_INCREMENTAL = option.boolean(
    "clustering.incremental", "false", "Whether compaction keeps an append table clustered as it grows."
)
CLUSTERING_INCREMENTAL_MODE = option.choice(
    "clustering.incremental.mode",
    "global-sort",
    "Whether clustering orders rows across all files or within the files of each task.",
    ("global-sort", "local-sort"),
)
CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE = option.boolean(
    "clustering.incremental.optimize-write", "false", "Whether new rows are clustered before they are written."
)
CLUSTERING_HISTORY_PARTITION_LIMIT = option.integer(
    "clustering.history-partition.limit",
    "5",
    "The maximum number of idle partitions that a clustering run orders fully.",
)
CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT = option.duration(
    "clustering.history-partition.idle-to-full-sort", None, "The time without data after which a partition is idle."
)
PK_CLUSTERING_OVERRIDE = option.boolean(
    "pk-clustering-override",
    "false",
    "Whether the files of a primary-key table are ordered by the clustering columns instead of the key.",
    immutable=True,
    status=option.refused("files are ordered by the key here; the compacted files of such a table can be read"),
)
SORT_COMPACTION_RANGE_STRATEGY = option.choice(
    "sort-compaction.range-strategy",
    "SIZE",
    "Whether ordering by ranges gives each task the same amount of data or the same number of rows.",
    ("SIZE", "QUANTITY"),
    status=option.kept_for("Flink"),
)
SORT_COMPACTION_SAMPLE_MAGNIFICATION = option.integer(
    "sort-compaction.local-sample.magnification",
    "1000",
    "The number of rows of each task that are sampled to determine the ranges, as a multiple of the number of tasks.",
    check=option.at_least(20),
    status=option.kept_for("Flink"),
)
ZORDER_VAR_LENGTH_CONTRIBUTION = option.integer(
    "zorder.var-length-contribution",
    "8",
    "The number of bytes of a string or binary value that contribute to the z-order.",
    check=option.at_least(1),
)
