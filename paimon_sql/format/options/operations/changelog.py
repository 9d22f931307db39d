"""Options of changelogs: producers, files, retention."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, duration, integer, kept_for, string

CHANGELOG_PRODUCER = choice(
    "changelog-producer",
    "none",
    "The source of the complete changelog: none, the input as it is, full compactions, or a lookup of old rows.",
    ("none", "input", "full-compaction", "lookup"),
    registry="paimon_sql.storage.table.changelog_producer:PRODUCERS.keys",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE = boolean(
    "changelog-producer.row-deduplicate",
    "false",
    "Whether updates that change no value are omitted from the changelog.",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS = string(
    "changelog-producer.row-deduplicate-ignore-fields",
    None,
    "The columns, comma-separated, whose changes alone do not count as an update.",
)
CHANGELOG_FILE_FORMAT = string(
    "changelog-file.format", None, "The file format of changelog files; defaults to that of data files."
)
CHANGELOG_FILE_COMPRESSION = string(
    "changelog-file.compression", None, "The compression of changelog files; defaults to that of data files."
)
CHANGELOG_FILE_PREFIX = string("changelog-file.prefix", "changelog-", "The prefix of the names of changelog files.")
CHANGELOG_FILE_STATS_MODE = string(
    "changelog-file.stats-mode",
    None,
    "The statistics that are kept for changelog files; defaults to those of data files.",
)
CHANGELOG_NUM_RETAINED_MIN = integer(
    "changelog.num-retained.min",
    None,
    "The minimum number of changelogs to retain if they outlive their snapshots.",
    check=at_least(1),
)
CHANGELOG_NUM_RETAINED_MAX = integer(
    "changelog.num-retained.max",
    None,
    "The maximum number of changelogs to retain if they outlive their snapshots.",
    check=at_least(1),
)
CHANGELOG_TIME_RETAINED = duration(
    "changelog.time-retained", None, "The time for which changelogs are retained if they outlive their snapshots."
)
CHANGELOG_LIFECYCLE_DECOUPLED = boolean(
    "changelog.lifecycle-decoupled",
    "false",
    "Documented for changelogs that outlive their snapshots; the options of their retained time and number decide.",
    status=kept_for("compatibility: no current engine reads it"),
)
DELETE_FORCE_PRODUCE_CHANGELOG = boolean(
    "delete.force-produce-changelog", "false", "Whether a DELETE that rewrites files writes a changelog of its rows."
)
