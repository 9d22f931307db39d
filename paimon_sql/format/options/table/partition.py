"""Options of partitions: names, expiration, mark done; and of record expiration."""

from __future__ import annotations

from paimon_sql.format.options.values import option

PARTITION_DEFAULT_NAME = option.string(
    "partition.default-name", "The directory name of a partition whose value is null or empty.", "__DEFAULT_PARTITION__"
)
PARTITION_LEGACY_NAME = option.boolean(
    "partition.legacy-name",
    "Whether directory names contain dates and times as numbers, as in older versions, instead of text.",
    "true",
)
PARTITION_EXPIRATION_TIME = option.duration("partition.expiration-time", "The time after which a partition expires.")
PARTITION_EXPIRATION_CHECK_INTERVAL = option.duration(
    "partition.expiration-check-interval", "The interval at which commits check for expired partitions.", "1 h"
)
PARTITION_EXPIRATION_STRATEGY = option.string(
    "partition.expiration-strategy",
    "Whether a partition's age counts from the time in its values (values-time) or from its last change (update-time).",
    "values-time",
)
PARTITION_EXPIRATION_MAX_NUM = option.integer.at_least(1)(
    "partition.expiration-max-num", "The maximum number of partitions that expire at a time.", "100"
)
PARTITION_EXPIRATION_BATCH_SIZE = option.integer.at_least(1)(
    "partition.expiration-batch-size", "The maximum number of partitions that one commit of the expiration drops."
)
PARTITION_TIMESTAMP_FORMATTER = option.string(
    "partition.timestamp-formatter", "The format of the time in partition values, as in yyyy-MM-dd."
)
PARTITION_TIMESTAMP_PATTERN = option.string(
    "partition.timestamp-pattern",
    "The pattern that builds the time from partition columns, as in $dt $hour:00:00; defaults to the first column.",
)
PARTITION_TIMESTAMP_FORMAT_STRICT = option.flag(
    "partition.timestamp-format.strict", "Whether rows are refused if the time of their partition cannot be parsed."
)
PARTITION_SINK_STRATEGY = option.one_of("NONE", "HASH", "PARTITION_DYNAMIC")(
    "partition.sink-strategy",
    "Whether the rows of a partition are sent to one writer unless they must be sent to the writers of their buckets;"
    " otherwise they are written where they are. Only Flink distributes them by the size of partitions.",
    "NONE",
)
PARTITION_MARK_DONE_ACTION = option.string(
    "partition.mark-done-action",
    "The actions that mark a partition as done, comma-separated: success-file, done-partition, mark-event,"
    " http-report or custom.",
    "success-file",
)
PARTITION_MARK_DONE_ACTION_CUSTOM_CLASS = option.string(
    "partition.mark-done-action.custom.class", "The Java class that a custom action calls."
)
PARTITION_MARK_DONE_ACTION_HTTP_URL = option.string(
    "partition.mark-done-action.http.url", "The URL that http-report sends its report to."
)
PARTITION_MARK_DONE_ACTION_HTTP_PARAMS = option.string(
    "partition.mark-done-action.http.params", "The parameters that http-report sends."
)
PARTITION_END_INPUT_TO_DONE = option.flag(
    "partition.end-input-to-done", "Whether the end of a batch write marks its partitions as done."
)
RECORD_LEVEL_EXPIRE_TIME = option.duration(
    "record-level.expire-time", "The time after which a row expires; compaction drops expired rows."
)
RECORD_LEVEL_TIME_FIELD = option.string(
    "record-level.time-field",
    "The column that holds a row's time: a timestamp, or seconds or milliseconds as a number.",
)

KEPT = (
    option.kept_for("Flink and Java's Spark connector").duration(
        "partition.idle-time-to-report-statistic",
        "The time without data after which the statistics of a partition are reported to the metastore.",
        "0 ms",
    ),
)
