"""Options of partitions: names, expiration, mark done; and of record expiration."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, duration, integer, kept_for, string

PARTITION_DEFAULT_NAME = string(
    "partition.default-name", "__DEFAULT_PARTITION__", "The directory name of a partition whose value is null or empty."
)
PARTITION_LEGACY_NAME = boolean(
    "partition.legacy-name",
    "true",
    "Whether directory names contain dates and times as numbers, as in older versions, instead of text.",
)
PARTITION_EXPIRATION_TIME = duration("partition.expiration-time", None, "The time after which a partition expires.")
PARTITION_EXPIRATION_CHECK_INTERVAL = duration(
    "partition.expiration-check-interval", "1 h", "The interval at which commits check for expired partitions."
)
PARTITION_EXPIRATION_STRATEGY = string(
    "partition.expiration-strategy",
    "values-time",
    "Whether a partition's age counts from the time in its values (values-time) or from its last change (update-time).",
)
PARTITION_EXPIRATION_MAX_NUM = integer(
    "partition.expiration-max-num", "100", "The maximum number of partitions that expire at a time.", check=at_least(1)
)
PARTITION_EXPIRATION_BATCH_SIZE = integer(
    "partition.expiration-batch-size",
    None,
    "The maximum number of partitions that one commit of the expiration drops.",
    check=at_least(1),
)
PARTITION_TIMESTAMP_FORMATTER = string(
    "partition.timestamp-formatter", None, "The format of the time in partition values, as in yyyy-MM-dd."
)
PARTITION_TIMESTAMP_PATTERN = string(
    "partition.timestamp-pattern",
    None,
    "The pattern that builds the time from partition columns, as in $dt $hour:00:00; defaults to the first column.",
)
PARTITION_TIMESTAMP_FORMAT_STRICT = boolean(
    "partition.timestamp-format.strict",
    "false",
    "Whether rows are refused if the time of their partition cannot be parsed.",
)
PARTITION_SINK_STRATEGY = choice(
    "partition.sink-strategy",
    "NONE",
    "Whether the rows of a partition are sent to one writer unless they must be sent to the writers of their buckets;"
    " otherwise they are written where they are. Only Flink distributes them by the size of partitions.",
    ("NONE", "HASH", "PARTITION_DYNAMIC"),
)
PARTITION_MARK_DONE_ACTION = string(
    "partition.mark-done-action",
    "success-file",
    "The actions that mark a partition as done, comma-separated: success-file, done-partition, mark-event,"
    " http-report or custom.",
)
PARTITION_MARK_DONE_ACTION_CUSTOM_CLASS = string(
    "partition.mark-done-action.custom.class", None, "The Java class that a custom action calls."
)
PARTITION_MARK_DONE_ACTION_HTTP_URL = string(
    "partition.mark-done-action.http.url", None, "The URL that http-report sends its report to."
)
PARTITION_MARK_DONE_ACTION_HTTP_PARAMS = string(
    "partition.mark-done-action.http.params", None, "The parameters that http-report sends."
)
PARTITION_END_INPUT_TO_DONE = boolean(
    "partition.end-input-to-done", "false", "Whether the end of a batch write marks its partitions as done."
)
PARTITION_IDLE_TIME_TO_REPORT_STATISTIC = duration(
    "partition.idle-time-to-report-statistic",
    "0 ms",
    "The time without data after which the statistics of a partition are reported to the metastore.",
    status=kept_for("Flink and Java's Spark connector"),
)
RECORD_LEVEL_EXPIRE_TIME = duration(
    "record-level.expire-time", None, "The time after which a row expires; compaction drops expired rows."
)
RECORD_LEVEL_TIME_FIELD = string(
    "record-level.time-field",
    None,
    "The column that holds a row's time: a timestamp, or seconds or milliseconds as a number.",
)
