"""Options of buckets: number, bucket key, bucket function."""

from __future__ import annotations

from paimon_sql.discovery import registered
from paimon_sql.format.options import values as option

_MODES = "paimon_sql.storage.write.buckets.base:special_numbers"


def _bucket_number(value: int) -> str | None:
    if value in (-1, -2) or value > 0 or value in registered(_MODES):
        return None
    return "it must be -1 (dynamic), -2 (postponed) or a number above 0"


def _bucket_limit(value: int) -> str | None:
    return None if value == -1 or value > 0 else "it must be -1 (no limit) or a number above 0"


BUCKET = option.integer(
    "bucket",
    "-1",
    "The number of buckets per partition: a positive number is fixed, -1 grows with the data, -2 is chosen when the"
    " table is compacted.",
    check=_bucket_number,
)
BUCKET_KEY = option.string(
    "bucket-key",
    None,
    "The columns, comma-separated, whose hash determines the bucket of a row; defaults to the primary key.",
    immutable=True,
)
BUCKET_FUNCTION_TYPE = option.choice(
    "bucket-function.type",
    "default",
    "The function from bucket key to bucket: Paimon's own hash, the remainder of an integer, or Hive's hash.",
    ("default", "mod", "hive"),
    immutable=True,
)
BUCKET_APPEND_ORDERED = option.boolean(
    "bucket-append-ordered",
    "true",
    "Whether the rows of a bucket of an append table keep the order in which they were written; here they always do.",
    status=option.kept_for("Java engines"),
)
DYNAMIC_BUCKET_TARGET_ROW_NUM = option.long(
    "dynamic-bucket.target-row-num", "2000000", "The number of rows in a dynamic bucket before the next one is created."
)
DYNAMIC_BUCKET_INITIAL_BUCKETS = option.integer(
    "dynamic-bucket.initial-buckets",
    None,
    "The initial number of buckets of a partition with dynamic buckets.",
    immutable=True,
)
DYNAMIC_BUCKET_MAX_BUCKETS = option.integer(
    "dynamic-bucket.max-buckets",
    "-1",
    "The maximum number of dynamic buckets per partition; -1 for no limit.",
    check=_bucket_limit,
)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM = option.integer(
    "dynamic-bucket.assigner-parallelism",
    None,
    "The number of tasks that assign keys to dynamic buckets.",
    check=option.at_least(1),
)
CROSS_PARTITION_UPSERT_INDEX_TTL = option.duration(
    "cross-partition-upsert.index-ttl",
    None,
    "The time after which keys expire from the index if the primary key lacks a partition column; expired keys may"
    " become duplicates.",
)
CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM = option.integer(
    "cross-partition-upsert.bootstrap-parallelism",
    "10",
    "The number of files that a task reads in parallel to locate existing keys.",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET = option.boolean(
    "postpone.batch-write-fixed-bucket",
    "true",
    "Whether a batch write to a table with postponed buckets assigns real buckets immediately.",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM = option.integer(
    "postpone.batch-write-fixed-bucket.max-parallelism",
    "2048",
    "The maximum number of buckets that a batch write assigns to a partition.",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR = option.integer(
    "postpone.batch-write-fixed-bucket.rescale-load-factor",
    "32",
    "The ratio of required to existing buckets from which a batch write adds buckets to a partition.",
)
POSTPONE_DEFAULT_BUCKET_NUM = option.integer(
    "postpone.default-bucket-num",
    None,
    "The initial number of real buckets of a partition; by default it is estimated from the data.",
    check=option.at_least(1),
)
POSTPONE_TARGET_ROW_NUM_PER_BUCKET = option.long(
    "postpone.target-row-num-per-bucket",
    None,
    "The target number of rows per bucket when the number of real buckets is estimated.",
    check=option.at_least(1),
)
POSTPONE_TARGET_SIZE_PER_BUCKET = option.memory_size(
    "postpone.target-size-per-bucket",
    "1 gb",
    "The target size of a bucket when the number of real buckets is estimated and no target number of rows is set.",
)
POSTPONE_MERGE_ON_READ = option.boolean(
    "postpone.merge-on-read",
    "false",
    "Whether batch reads merge the rows of the postponed bucket with those of real buckets.",
)
