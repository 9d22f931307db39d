"""Options of buckets: number, bucket key, bucket function."""

from __future__ import annotations

from paimon_sql.discovery import registered
from paimon_sql.format.options.values import fixed, java, option

_MODES = "paimon_sql.storage.write.buckets.base:special_numbers"


def _bucket_number(value: int) -> str | None:
    if value in (-1, -2) or value > 0 or value in registered(_MODES):
        return None
    return "it must be -1 (dynamic), -2 (postponed) or a number above 0"


def _bucket_limit(value: int) -> str | None:
    return None if value == -1 or value > 0 else "it must be -1 (no limit) or a number above 0"


BUCKET = option.integer.checked(_bucket_number)(
    "bucket",
    "The number of buckets per partition: a positive number is fixed, -1 grows with the data, -2 is chosen when the"
    " table is compacted.",
    "-1",
)
BUCKET_KEY = fixed.string(
    "bucket-key",
    "The columns, comma-separated, whose hash determines the bucket of a row; defaults to the primary key.",
)
BUCKET_FUNCTION_TYPE = fixed.one_of("default", "mod", "hive")(
    "bucket-function.type",
    "The function from bucket key to bucket: Paimon's own hash, the remainder of an integer, or Hive's hash.",
    "default",
)
BUCKET_APPEND_ORDERED = java.boolean(
    "bucket-append-ordered",
    "Whether the rows of a bucket of an append table keep the order in which they were written; here they always do.",
    "true",
)
DYNAMIC_BUCKET_TARGET_ROW_NUM = option.long(
    "dynamic-bucket.target-row-num", "The number of rows in a dynamic bucket before the next one is created.", "2000000"
)
DYNAMIC_BUCKET_INITIAL_BUCKETS = fixed.integer(
    "dynamic-bucket.initial-buckets", "The initial number of buckets of a partition with dynamic buckets."
)
DYNAMIC_BUCKET_MAX_BUCKETS = option.integer.checked(_bucket_limit)(
    "dynamic-bucket.max-buckets", "The maximum number of dynamic buckets per partition; -1 for no limit.", "-1"
)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM = option.integer.at_least(1)(
    "dynamic-bucket.assigner-parallelism", "The number of tasks that assign keys to dynamic buckets."
)
CROSS_PARTITION_UPSERT_INDEX_TTL = option.duration(
    "cross-partition-upsert.index-ttl",
    "The time after which keys expire from the index if the primary key lacks a partition column; expired keys may"
    " become duplicates.",
)
CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM = option.integer(
    "cross-partition-upsert.bootstrap-parallelism",
    "The number of files that a task reads in parallel to locate existing keys.",
    "10",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET = option.boolean(
    "postpone.batch-write-fixed-bucket",
    "Whether a batch write to a table with postponed buckets assigns real buckets immediately.",
    "true",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM = option.integer(
    "postpone.batch-write-fixed-bucket.max-parallelism",
    "The maximum number of buckets that a batch write assigns to a partition.",
    "2048",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR = option.integer(
    "postpone.batch-write-fixed-bucket.rescale-load-factor",
    "The ratio of required to existing buckets from which a batch write adds buckets to a partition.",
    "32",
)
POSTPONE_DEFAULT_BUCKET_NUM = option.integer.at_least(1)(
    "postpone.default-bucket-num",
    "The initial number of real buckets of a partition; by default it is estimated from the data.",
)
POSTPONE_TARGET_ROW_NUM_PER_BUCKET = option.long.at_least(1)(
    "postpone.target-row-num-per-bucket",
    "The target number of rows per bucket when the number of real buckets is estimated.",
)
POSTPONE_TARGET_SIZE_PER_BUCKET = option.memory_size(
    "postpone.target-size-per-bucket",
    "The target size of a bucket when the number of real buckets is estimated and no target number of rows is set.",
    "1 gb",
)
POSTPONE_MERGE_ON_READ = option.flag(
    "postpone.merge-on-read", "Whether batch reads merge the rows of the postponed bucket with those of real buckets."
)
