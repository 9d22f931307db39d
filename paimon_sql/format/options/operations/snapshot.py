"""Options of snapshots and tags, and of the consumers that retain snapshots."""

from __future__ import annotations

from paimon_sql.format.options.values import UNLIMITED_INTEGER, java, option

kept_for_flink = option.kept_for("Flink")

SNAPSHOT_NUM_RETAINED_MIN = option.integer.at_least(1)(
    "snapshot.num-retained.min", "The minimum number of snapshots to retain.", "10"
)
SNAPSHOT_NUM_RETAINED_MAX = option.integer.at_least(1)(
    "snapshot.num-retained.max", "The maximum number of snapshots to retain.", UNLIMITED_INTEGER
)
SNAPSHOT_TIME_RETAINED = option.duration(
    "snapshot.time-retained", "The time for which a snapshot is retained before it may expire.", "1 h"
)
SNAPSHOT_EXPIRE_LIMIT = option.integer.at_least(1)(
    "snapshot.expire.limit", "The maximum number of snapshots that expire at a time.", "50"
)
SNAPSHOT_EXPIRE_EXECUTION_MODE = option.one_of("sync", "async")(
    "snapshot.expire.execution-mode", "Whether a commit waits for the expiration of snapshots.", "sync"
)
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = option.flag(
    "snapshot.clean-empty-directories",
    "Whether directories that are empty after expiration are removed, which is slow on object stores.",
    alternatives=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_IGNORE_EMPTY_COMMIT = option.boolean(
    "snapshot.ignore-empty-commit", "Whether a commit without changes creates no snapshot; true if not set."
)
CONSUMER_ID = option.string(
    "consumer-id",
    "The name under which a stream records its progress, so that snapshots that it has not read do not expire.",
)
CONSUMER_EXPIRATION_TIME = option.duration(
    "consumer.expiration-time",
    "The time since its last progress after which a consumer expires.",
    alternatives=("consumer.expire-time",),
    renamed=True,
)
CONSUMER_IGNORE_PROGRESS = option.flag(
    "consumer.ignore-progress", "Whether a new stream ignores the recorded progress of its consumer."
)
CONSUMER_CHANGELOG_ONLY = option.flag(
    "consumer.changelog-only", "Whether consumers retain only changelogs and let snapshots expire."
)

TAG_AUTOMATIC_CREATION = option.one_of("none", "process-time", "watermark", "batch")(
    "tag.automatic-creation",
    "What triggers the automatic creation of tags: nothing, the clock, the watermark, or the end of a batch write.",
    "none",
)
TAG_CREATION_PERIOD = option.one_of("daily", "hourly", "two-hours")(
    "tag.creation-period", "The period for which a tag is created.", "daily"
)
TAG_CREATION_PERIOD_DURATION = option.duration(
    "tag.creation-period-duration",
    "A period of any length for which a tag is created; it overrides `tag.creation-period`.",
)
TAG_CREATION_DELAY = option.duration(
    "tag.creation-delay",
    "The delay after the end of a period before its tag is created, so that late data are included.",
    "0 ms",
)
TAG_PERIOD_FORMATTER = option.one_of("with_dashes", "without_dashes", "without_dashes_and_spaces")(
    "tag.period-formatter",
    "The format of the time in the name of a tag: 2024-01-31 08, 20240131 08 or 2024013108.",
    "with_dashes",
)
TAG_NUM_RETAINED_MAX = option.integer.at_least(1)(
    "tag.num-retained-max", "The maximum number of automatically created tags to retain."
)
TAG_DEFAULT_TIME_RETAINED = option.duration(
    "tag.default-time-retained", "The time for which a new tag is retained by default."
)
TAG_TIME_EXPIRE_ENABLED = option.boolean(
    "tag.time-expire-enabled", "Whether tags expire when their retention time is over.", "true"
)
TAG_AUTOMATIC_COMPLETION = option.flag(
    "tag.automatic-completion", "Whether tags of past periods without a commit are created afterwards."
)
TAG_BATCH_CUSTOMIZED_NAME = option.string(
    "tag.batch.customized-name", "The name of the tag that a batch write creates."
)
TAG_CREATE_SUCCESS_FILE = option.flag("tag.create-success-file", "Whether a success file is created for a new tag.")
SINK_PROCESS_TIME_ZONE = option.string(
    "sink.process-time-zone", "The time zone of tags by process time; defaults to the machine's time zone."
)
SINK_WATERMARK_TIME_ZONE = option.string("sink.watermark-time-zone", "The time zone of tags by watermark.", "UTC")
METASTORE_TAG_TO_PARTITION = option.string(
    "metastore.tag-to-partition", "The partition column whose values are the tags of the table in Hive."
)

KEPT = (
    kept_for_flink.duration(
        "snapshot.watermark-idle-timeout",
        "The time without data after which a stream creates a snapshot anyway, so that tags by watermark are created.",
    ),
    kept_for_flink.one_of("exactly-once", "at-least-once")(
        "consumer.mode",
        "Whether a stream records its progress with its checkpoints or when it finds the next snapshot.",
        "exactly-once",
    ),
    java.string("tag.callbacks", "Java classes, comma-separated, that Java engines call for a new tag."),
    java.string("tag.callback.<class>.param", "The constructor parameter of such a class."),
    option.kept_for("Java engines with a Hive metastore").one_of("none", "process-time", "watermark", "batch")(
        "metastore.tag-to-partition.preview",
        "Whether Hive shows the next tag before it is created, and what its name is derived from.",
        "none",
    ),
)
