"""Options of partitions: names, expiration, mark done; and of record expiration."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, duration, integer, kept_for, string

PARTITION_DEFAULT_NAME = string(
    "partition.default-name", "__DEFAULT_PARTITION__", "The directory name of a partition whose value is null or empty."
)
PARTITION_LEGACY_NAME = boolean(
    "partition.legacy-name",
    "true",
    "Whether directory names tell dates and times as their numbers, as older versions did, and not as text.",
)
PARTITION_EXPIRATION_TIME = duration("partition.expiration-time", None, "How long a partition lives.")
PARTITION_EXPIRATION_CHECK_INTERVAL = duration(
    "partition.expiration-check-interval", "1 h", "How often commits look for partitions whose time is over."
)
PARTITION_EXPIRATION_STRATEGY = string(
    "partition.expiration-strategy",
    "values-time",
    "Whether a partition's age counts from the time in its values (values-time) or from its last change (update-time).",
)
PARTITION_EXPIRATION_MAX_NUM = integer(
    "partition.expiration-max-num", "100", "How many partitions expire at a time.", check=at_least(1)
)
PARTITION_EXPIRATION_BATCH_SIZE = integer(
    "partition.expiration-batch-size", None, "How many partitions one commit of the expiry drops.", check=at_least(1)
)
PARTITION_TIMESTAMP_FORMATTER = string(
    "partition.timestamp-formatter", None, "How the time in partition values is written, as in yyyy-MM-dd."
)
PARTITION_TIMESTAMP_PATTERN = string(
    "partition.timestamp-pattern",
    None,
    "How the time is put together from partition columns, as in $dt $hour:00:00; without it the first column tells it.",
)
PARTITION_TIMESTAMP_FORMAT_STRICT = boolean(
    "partition.timestamp-format.strict", "false", "Whether rows are refused whose partition does not tell a time so."
)
PARTITION_SINK_STRATEGY = choice(
    "partition.sink-strategy",
    "NONE",
    "Whether the rows of a partition come to one writer, where they need not come to those of their buckets; otherwise"
    " they are written where they are. By the size of partitions Flink alone spreads them.",
    ("NONE", "HASH", "PARTITION_DYNAMIC"),
)
PARTITION_MARK_DONE_ACTION = string(
    "partition.mark-done-action",
    "success-file",
    "What tells that a partition is complete, with commas between: success-file, done-partition, mark-event,"
    " http-report or custom.",
)
PARTITION_MARK_DONE_ACTION_CUSTOM_CLASS = string(
    "partition.mark-done-action.custom.class", None, "The Java class that a custom action calls."
)
PARTITION_MARK_DONE_ACTION_HTTP_URL = string(
    "partition.mark-done-action.http.url", None, "The address that http-report tells."
)
PARTITION_MARK_DONE_ACTION_HTTP_PARAMS = string(
    "partition.mark-done-action.http.params", None, "What http-report sends along."
)
PARTITION_END_INPUT_TO_DONE = boolean(
    "partition.end-input-to-done", "false", "Whether the end of a batch write marks its partitions done."
)
PARTITION_IDLE_TIME_TO_REPORT_STATISTIC = duration(
    "partition.idle-time-to-report-statistic",
    "0 ms",
    "After what time without data the numbers of a partition are told to the metastore.",
    status=kept_for("Flink and Java's Spark connector"),
)
RECORD_LEVEL_EXPIRE_TIME = duration(
    "record-level.expire-time", None, "How long a row lives; compaction drops older ones."
)
RECORD_LEVEL_TIME_FIELD = string(
    "record-level.time-field",
    None,
    "The column that tells a row's time: a timestamp, or seconds or milliseconds as a number.",
)
