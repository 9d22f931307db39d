"""Options of tags: automatic creation, expiration."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, duration, integer, kept_for, string

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
    "tag.callback.<class>.param",
    None,
    "The constructor parameter of such a class.",
    status=kept_for("Java engines"),
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
