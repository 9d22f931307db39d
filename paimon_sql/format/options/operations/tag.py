"""Options of tags: automatic creation, expiration."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, duration, integer, kept_for, string

TAG_AUTOMATIC_CREATION = choice(
    "tag.automatic-creation",
    "none",
    "What makes a tag by itself: nothing, the clock, the watermark, or the end of a batch write.",
    ("none", "process-time", "watermark", "batch"),
)
TAG_CREATION_PERIOD = choice(
    "tag.creation-period", "daily", "For what span of time a tag is made.", ("daily", "hourly", "two-hours")
)
TAG_CREATION_PERIOD_DURATION = duration(
    "tag.creation-period-duration",
    None,
    "A span of time of any length for which a tag is made; it overrides the period.",
)
TAG_CREATION_DELAY = duration(
    "tag.creation-delay", "0 ms", "How long after the end of its span a tag is made, so that late data get in."
)
TAG_PERIOD_FORMATTER = choice(
    "tag.period-formatter",
    "with_dashes",
    "How the name of a tag tells its time: 2024-01-31 08, 20240131 08 or 2024013108.",
    ("with_dashes", "without_dashes", "without_dashes_and_spaces"),
)
TAG_NUM_RETAINED_MAX = integer(
    "tag.num-retained-max", None, "How many of the tags that were made by themselves stay.", check=at_least(1)
)
TAG_DEFAULT_TIME_RETAINED = duration(
    "tag.default-time-retained", None, "How long a new tag lives when its maker does not say so."
)
TAG_TIME_EXPIRE_ENABLED = boolean("tag.time-expire-enabled", "true", "Whether tags expire when their time is over.")
TAG_AUTOMATIC_COMPLETION = boolean(
    "tag.automatic-completion", "false", "Whether tags of spans that passed without a commit are made afterwards."
)
TAG_BATCH_CUSTOMIZED_NAME = string("tag.batch.customized-name", None, "The name of the tag that a batch write makes.")
TAG_CREATE_SUCCESS_FILE = boolean(
    "tag.create-success-file", "false", "Whether a file beside a new tag says that it is complete."
)
TAG_CALLBACKS = string(
    "tag.callbacks",
    None,
    "Java classes, with commas between, that Java engines call for a new tag.",
    status=kept_for("Java engines"),
)
TAG_CALLBACK_PARAM = string(
    "tag.callback.<class>.param",
    None,
    "What the constructor of such a class is given.",
    status=kept_for("Java engines"),
)
SINK_PROCESS_TIME_ZONE = string(
    "sink.process-time-zone", None, "The time zone of tags that follow the clock; without it the machine's own."
)
SINK_WATERMARK_TIME_ZONE = string("sink.watermark-time-zone", "UTC", "The time zone of tags that follow the watermark.")
METASTORE_TAG_TO_PARTITION = string(
    "metastore.tag-to-partition", None, "The partition column under whose values Hive shows the tags of the table."
)
METASTORE_TAG_TO_PARTITION_PREVIEW = choice(
    "metastore.tag-to-partition.preview",
    "none",
    "Whether Hive shows the next tag before it is made, and what tells its name.",
    ("none", "process-time", "watermark", "batch"),
    status=kept_for("Java engines with a Hive metastore"),
)
