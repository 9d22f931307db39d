"""Options of snapshots and tags, and of the consumers that retain snapshots."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    UNLIMITED_INTEGER,
    at_least,
    boolean,
    choice,
    duration,
    integer,
    kept_for,
    string,
)

SNAPSHOT_NUM_RETAINED_MIN = integer(
    "snapshot.num-retained.min", "10", "The minimum number of snapshots to retain.", check=at_least(1)
)
SNAPSHOT_NUM_RETAINED_MAX = integer(
    "snapshot.num-retained.max", UNLIMITED_INTEGER, "The maximum number of snapshots to retain.", check=at_least(1)
)
SNAPSHOT_TIME_RETAINED = duration(
    "snapshot.time-retained", "1 h", "The time for which a snapshot is retained before it may expire."
)
SNAPSHOT_EXPIRE_LIMIT = integer(
    "snapshot.expire.limit", "50", "The maximum number of snapshots that expire at a time.", check=at_least(1)
)
SNAPSHOT_EXPIRE_EXECUTION_MODE = choice(
    "snapshot.expire.execution-mode",
    "sync",
    "Whether a commit waits for the expiration of snapshots.",
    ("sync", "async"),
)
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = boolean(
    "snapshot.clean-empty-directories",
    "false",
    "Whether directories that are empty after expiration are removed, which is slow on object stores.",
    alternatives=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_IGNORE_EMPTY_COMMIT = boolean(
    "snapshot.ignore-empty-commit", None, "Whether a commit without changes creates no snapshot; true if not set."
)
SNAPSHOT_WATERMARK_IDLE_TIMEOUT = duration(
    "snapshot.watermark-idle-timeout",
    None,
    "The time without data after which a stream creates a snapshot anyway, so that tags by watermark are created.",
    status=kept_for("Flink"),
)
CONSUMER_ID = string(
    "consumer-id",
    None,
    "The name under which a stream records its progress, so that snapshots that it has not read do not expire.",
)
CONSUMER_MODE = choice(
    "consumer.mode",
    "exactly-once",
    "Whether a stream records its progress with its checkpoints or when it finds the next snapshot.",
    ("exactly-once", "at-least-once"),
    status=kept_for("Flink"),
)
CONSUMER_EXPIRATION_TIME = duration(
    "consumer.expiration-time",
    None,
    "The time since its last progress after which a consumer expires.",
    alternatives=("consumer.expire-time",),
    renamed=True,
)
CONSUMER_IGNORE_PROGRESS = boolean(
    "consumer.ignore-progress", "false", "Whether a new stream ignores the recorded progress of its consumer."
)
CONSUMER_CHANGELOG_ONLY = boolean(
    "consumer.changelog-only", "false", "Whether consumers retain only changelogs and let snapshots expire."
)


TAG_AUTOMATIC_CREATION = choice(
    "tag.automatic-creation",
    "none",
    "What triggers the automatic creation of tags: nothing, the clock, the watermark, or the end of a batch write.",
    ("none", "process-time", "watermark", "batch"),
)
TAG_CREATION_PERIOD = choice(
    "tag.creation-period", "daily", "The period for which a tag is created.", ("daily", "hourly", "two-hours")
)
TAG_CREATION_PERIOD_DURATION = duration(
    "tag.creation-period-duration",
    None,
    "A period of any length for which a tag is created; it overrides `tag.creation-period`.",
)
TAG_CREATION_DELAY = duration(
    "tag.creation-delay",
    "0 ms",
    "The delay after the end of a period before its tag is created, so that late data are included.",
)
TAG_PERIOD_FORMATTER = choice(
    "tag.period-formatter",
    "with_dashes",
    "The format of the time in the name of a tag: 2024-01-31 08, 20240131 08 or 2024013108.",
    ("with_dashes", "without_dashes", "without_dashes_and_spaces"),
)
TAG_NUM_RETAINED_MAX = integer(
    "tag.num-retained-max", None, "The maximum number of automatically created tags to retain.", check=at_least(1)
)
TAG_DEFAULT_TIME_RETAINED = duration(
    "tag.default-time-retained", None, "The time for which a new tag is retained by default."
)
TAG_TIME_EXPIRE_ENABLED = boolean(
    "tag.time-expire-enabled", "true", "Whether tags expire when their retention time is over."
)
TAG_AUTOMATIC_COMPLETION = boolean(
    "tag.automatic-completion", "false", "Whether tags of past periods without a commit are created afterwards."
)
TAG_BATCH_CUSTOMIZED_NAME = string("tag.batch.customized-name", None, "The name of the tag that a batch write creates.")
TAG_CREATE_SUCCESS_FILE = boolean(
    "tag.create-success-file", "false", "Whether a success file is created for a new tag."
)
TAG_CALLBACKS = string(
    "tag.callbacks",
    None,
    "Java classes, comma-separated, that Java engines call for a new tag.",
    status=kept_for("Java engines"),
)
TAG_CALLBACK_PARAM = string(
    "tag.callback.<class>.param", None, "The constructor parameter of such a class.", status=kept_for("Java engines")
)
SINK_PROCESS_TIME_ZONE = string(
    "sink.process-time-zone", None, "The time zone of tags by process time; defaults to the machine's time zone."
)
SINK_WATERMARK_TIME_ZONE = string("sink.watermark-time-zone", "UTC", "The time zone of tags by watermark.")
METASTORE_TAG_TO_PARTITION = string(
    "metastore.tag-to-partition", None, "The partition column whose values are the tags of the table in Hive."
)
METASTORE_TAG_TO_PARTITION_PREVIEW = choice(
    "metastore.tag-to-partition.preview",
    "none",
    "Whether Hive shows the next tag before it is created, and what its name is derived from.",
    ("none", "process-time", "watermark", "batch"),
    status=kept_for("Java engines with a Hive metastore"),
)
