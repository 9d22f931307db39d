"""Options of buckets: number, bucket key, bucket function."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    at_least,
    boolean,
    choice,
    duration,
    integer,
    kept_for,
    long,
    memory_size,
    string,
)


def _bucket_number(value: int) -> str | None:
    return None if value in (-1, -2) or value > 0 else "it must be -1 (dynamic), -2 (postponed) or a number above 0"


def _bucket_limit(value: int) -> str | None:
    return None if value == -1 or value > 0 else "it must be -1 (no limit) or a number above 0"


BUCKET = integer(
    "bucket",
    "-1",
    "How many buckets a partition has: a number fixes them, -1 lets them grow with the data, -2 chooses them when the"
    " table is compacted.",
    check=_bucket_number,
)
BUCKET_KEY = string(
    "bucket-key",
    None,
    "The columns, with commas between, whose hash decides on the bucket of a row; without it the primary key does.",
    immutable=True,
)
BUCKET_FUNCTION_TYPE = choice(
    "bucket-function.type",
    "default",
    "How the bucket follows from the bucket key: Paimon's own hash, the remainder of a whole number, or Hive's hash.",
    ("default", "mod", "hive"),
    immutable=True,
)
BUCKET_APPEND_ORDERED = boolean(
    "bucket-append-ordered",
    "true",
    "Whether the rows of a bucket of an append table keep the order in which they were written; here they do always.",
    status=kept_for("Java engines"),
)
DYNAMIC_BUCKET_TARGET_ROW_NUM = long(
    "dynamic-bucket.target-row-num", "2000000", "How many rows a dynamic bucket takes before the next one is opened."
)
DYNAMIC_BUCKET_INITIAL_BUCKETS = integer(
    "dynamic-bucket.initial-buckets",
    None,
    "How many buckets a partition with dynamic buckets starts with.",
    immutable=True,
)
DYNAMIC_BUCKET_MAX_BUCKETS = integer(
    "dynamic-bucket.max-buckets",
    "-1",
    "The greatest number of dynamic buckets in a partition; -1 sets no limit.",
    check=_bucket_limit,
)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM = integer(
    "dynamic-bucket.assigner-parallelism",
    None,
    "How many tasks share the work of finding a dynamic bucket for each key.",
    check=at_least(1),
)
CROSS_PARTITION_UPSERT_INDEX_TTL = duration(
    "cross-partition-upsert.index-ttl",
    None,
    "How long a key is remembered when the primary key lacks a partition column; forgotten keys may become duplicates.",
)
CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM = integer(
    "cross-partition-upsert.bootstrap-parallelism",
    "10",
    "How many files at a time a task reads to learn where existing keys stand.",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET = boolean(
    "postpone.batch-write-fixed-bucket",
    "true",
    "Whether a batch write into a table with postponed buckets chooses real buckets at once.",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM = integer(
    "postpone.batch-write-fixed-bucket.max-parallelism",
    "2048",
    "The greatest number of buckets that a batch write chooses for a partition.",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR = integer(
    "postpone.batch-write-fixed-bucket.rescale-load-factor",
    "32",
    "How many times more buckets than exist must be needed before a batch write gives a partition more of them.",
)
POSTPONE_DEFAULT_BUCKET_NUM = integer(
    "postpone.default-bucket-num",
    None,
    "How many real buckets a partition gets first; without it the number is estimated from the data.",
    check=at_least(1),
)
POSTPONE_TARGET_ROW_NUM_PER_BUCKET = long(
    "postpone.target-row-num-per-bucket",
    None,
    "How many rows a bucket should get when the number of real buckets is estimated.",
    check=at_least(1),
)
POSTPONE_TARGET_SIZE_PER_BUCKET = memory_size(
    "postpone.target-size-per-bucket",
    "1 gb",
    "How much data a bucket should get when the number of real buckets is estimated and no number of rows is set.",
)
POSTPONE_MERGE_ON_READ = boolean(
    "postpone.merge-on-read",
    "false",
    "Whether batch reads merge rows that still wait in the postponed bucket with those of real buckets.",
)
