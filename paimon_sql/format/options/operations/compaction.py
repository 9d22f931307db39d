"""Options of compaction: triggers, levels, clustering."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    at_least,
    boolean,
    choice,
    double,
    duration,
    integer,
    kept_for,
    memory_size,
    refused,
    string,
)


def _hour(value: int) -> str | None:
    return None if -1 <= value <= 23 else "it must be an hour from 0 to 23, or -1"


WRITE_ONLY = boolean(
    "write-only",
    "false",
    "Whether writers leave compaction and expiry to a job of their own.",
    alternatives=("write.compaction-skip",),
)
NUM_SORTED_RUNS_COMPACTION_TRIGGER = integer(
    "num-sorted-run.compaction-trigger",
    "5",
    "How many sorted runs (files of level 0 and deeper levels) a bucket holds before it is compacted.",
    check=at_least(1),
)
NUM_SORTED_RUNS_STOP_TRIGGER = integer(
    "num-sorted-run.stop-trigger",
    None,
    "How many sorted runs a bucket may hold before a stream's writer waits; merges keep so many open at a time.",
    check=at_least(1),
)
NUM_LEVELS = integer(
    "num-levels",
    None,
    "How many levels a bucket has; one more than the compaction trigger without it.",
    check=at_least(2),
)
FULL_COMPACTION_DELTA_COMMITS = integer(
    "full-compaction.delta-commits",
    None,
    "After how many commits a stream compacts fully; a batch write does so each time when this is above 0.",
)
COMPACTION_OPTIMIZATION_INTERVAL = duration(
    "compaction.optimization-interval",
    None,
    "How often a bucket is compacted fully, so that read-optimised reads stay fresh.",
)
COMPACTION_TOTAL_SIZE_THRESHOLD = memory_size(
    "compaction.total-size-threshold", None, "Below which size a bucket is always compacted fully."
)
COMPACTION_INCREMENTAL_SIZE_THRESHOLD = memory_size(
    "compaction.incremental-size-threshold", None, "How much data above the last level bring a full compaction."
)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = integer(
    "compaction.max-size-amplification-percent",
    "200",
    "How many percent of the last level the newer runs may take before a full compaction.",
)
COMPACTION_SIZE_RATIO = integer(
    "compaction.size-ratio", "1", "How many percent smaller than the next run the chosen ones may be to take it in too."
)
COMPACTION_OFFPEAK_START_HOUR = integer(
    "compaction.offpeak.start.hour",
    "-1",
    "The hour at which quiet time begins; -1 for none.",
    check=_hour,
)
COMPACTION_OFFPEAK_END_HOUR = integer(
    "compaction.offpeak.end.hour",
    "-1",
    "The hour before which quiet time ends; -1 for none.",
    check=_hour,
)
COMPACTION_OFFPEAK_RATIO = integer(
    "compaction.offpeak-ratio",
    "0",
    "The percentage that is added to the size ratio in quiet time, by the machine's clock.",
)
COMPACTION_MIN_FILE_NUM = integer(
    "compaction.min.file-num",
    "5",
    "How many small files an append table gathers before they are compacted.",
    check=at_least(1),
)
COMPACTION_SMALL_FILE_RATIO = double(
    "compaction.small-file-ratio", "0.7", "Below which part of the target size a file counts as small."
)
COMPACTION_DELETE_RATIO_THRESHOLD = double(
    "compaction.delete-ratio-threshold", "0.2", "Which part of a file's rows must be deleted for it to be rewritten."
)
COMPACTION_FILE_NUM_LIMIT = integer(
    "compaction.file-num-limit",
    "100000",
    "How many files the plan of an append table's compaction holds at a time.",
    status=kept_for("Java engines"),
)
COMPACTION_FORCE_UP_LEVEL_0 = boolean(
    "compaction.force-up-level-0", "false", "Whether every compaction takes all files of level 0."
)
COMPACTION_FORCE_REWRITE_ALL_FILES = boolean(
    "compaction.force-rewrite-all-files",
    "false",
    "Whether a full compaction rewrites files that need it not, as when data move.",
)
COMPACTION_SKIP_EXPIRED_PARTITIONS = boolean(
    "compaction.skip-expired-partitions",
    "false",
    "Whether partitions whose time is over are not compacted any more.",
)
FORCE_LOOKUP = boolean(
    "force-lookup", "false", "Whether compaction looks old rows up even where nothing else asks for it.", immutable=True
)
LOOKUP_WAIT = boolean(
    "lookup-wait",
    "true",
    "Whether a stream's commit waits for the compaction that looks old rows up; a statement always does.",
    alternatives=("changelog-producer.lookup-wait",),
    status=kept_for("Java engines"),
)
LOOKUP_COMPACT = choice(
    "lookup-compact",
    "RADICAL",
    "Whether look-up compaction takes new files at once or waits for more of them.",
    ("RADICAL", "GENTLE"),
)
LOOKUP_COMPACT_MAX_INTERVAL = integer(
    "lookup-compact.max-interval",
    None,
    "After how many compactions at most a gentle look-up compaction takes the new files.",
    check=at_least(1),
)
CLUSTERING_COLUMNS = string(
    "clustering.columns",
    None,
    "The columns, with commas between, by which the rows of an append table are ordered.",
    alternatives=("sink.clustering.by-columns",),
)
CLUSTERING_STRATEGY = choice(
    "clustering.strategy",
    "auto",
    "Along which curve rows are ordered; auto goes by the number of columns.",
    ("auto", "order", "zorder", "hilbert"),
    alternatives=("sink.clustering.strategy",),
)
CLUSTERING_INCREMENTAL = boolean(
    "clustering.incremental", "false", "Whether compaction keeps an append table clustered as it grows."
)
CLUSTERING_INCREMENTAL_MODE = choice(
    "clustering.incremental.mode",
    "global-sort",
    "Whether clustering orders rows over all files or within each task's files.",
    ("global-sort", "local-sort"),
)
CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE = boolean(
    "clustering.incremental.optimize-write", "false", "Whether new rows are clustered before they are written."
)
CLUSTERING_HISTORY_PARTITION_LIMIT = integer(
    "clustering.history-partition.limit", "5", "How many quiet partitions a clustering run orders fully."
)
CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT = duration(
    "clustering.history-partition.idle-to-full-sort", None, "After what time without data a partition counts as quiet."
)
PK_CLUSTERING_OVERRIDE = boolean(
    "pk-clustering-override",
    "false",
    "Whether the files of a primary-key table are ordered by the clustering columns and not by the key.",
    immutable=True,
    status=refused("files are ordered by the key here; what such a table has settled is read"),
)
SORT_COMPACTION_RANGE_STRATEGY = choice(
    "sort-compaction.range-strategy",
    "SIZE",
    "Whether ordering by ranges gives each task the same amount of data or the same number of rows.",
    ("SIZE", "QUANTITY"),
    status=kept_for("Flink"),
)
SORT_COMPACTION_SAMPLE_MAGNIFICATION = integer(
    "sort-compaction.local-sample.magnification",
    "1000",
    "How many rows of each task are sampled to find the ranges, times the number of tasks.",
    check=at_least(20),
    status=kept_for("Flink"),
)
ZORDER_VAR_LENGTH_CONTRIBUTION = integer(
    "zorder.var-length-contribution",
    "8",
    "How many bytes of a text or binary take part in the z-order.",
    check=at_least(1),
)
