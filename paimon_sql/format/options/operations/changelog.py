"""Options of changelogs: producers, files, retention."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, duration, integer, kept_for, string

CHANGELOG_PRODUCER = choice(
    "changelog-producer",
    "none",
    "Where the complete changelog comes from: nowhere, the input as it is, full compactions, or a look-up of old rows.",
    ("none", "input", "full-compaction", "lookup"),
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE = boolean(
    "changelog-producer.row-deduplicate",
    "false",
    "Whether an update that changes no value is left out of the changelog.",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS = string(
    "changelog-producer.row-deduplicate-ignore-fields",
    None,
    "The columns, with commas between, whose changes alone do not count as an update.",
)
CHANGELOG_FILE_FORMAT = string("changelog-file.format", None, "The file format of changelog files, if not the data's.")
CHANGELOG_FILE_COMPRESSION = string(
    "changelog-file.compression", None, "The compression of changelog files, if not the data's."
)
CHANGELOG_FILE_PREFIX = string("changelog-file.prefix", "changelog-", "How the names of changelog files begin.")
CHANGELOG_FILE_STATS_MODE = string(
    "changelog-file.stats-mode", None, "Which statistics are kept for changelog files, if not those of the data."
)
CHANGELOG_NUM_RETAINED_MIN = integer(
    "changelog.num-retained.min",
    None,
    "How many changelogs stay at least, when they outlive their snapshots.",
    check=at_least(1),
)
CHANGELOG_NUM_RETAINED_MAX = integer(
    "changelog.num-retained.max",
    None,
    "How many changelogs stay at most, when they outlive their snapshots.",
    check=at_least(1),
)
CHANGELOG_TIME_RETAINED = duration(
    "changelog.time-retained", None, "How long changelogs stay, when they outlive their snapshots."
)
CHANGELOG_LIFECYCLE_DECOUPLED = boolean(
    "changelog.lifecycle-decoupled",
    "false",
    "Said by documents of changelogs that outlive their snapshots; what decides is how long and how many are retained.",
    status=kept_for("no engine, as none of today reads it"),
)
DELETE_FORCE_PRODUCE_CHANGELOG = boolean(
    "delete.force-produce-changelog", "false", "Whether a DELETE that rewrites files writes a changelog of its rows."
)
