"""Options of changelogs: producers, files, retention."""

from __future__ import annotations

from paimon_sql.format.options.table.data_file import stats_mode
from paimon_sql.format.options.values import option, unread

CHANGELOG_PRODUCER = option.one_of(
    "none", "input", "full-compaction", "lookup", registry="paimon_sql.storage.table.changelog_producer:PRODUCERS.keys"
)(
    "changelog-producer",
    "The source of the complete changelog: none, the input as it is, full compactions, or a lookup of old rows.",
    "none",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE = option.flag(
    "changelog-producer.row-deduplicate", "Whether updates that change no value are omitted from the changelog."
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS = option.string(
    "changelog-producer.row-deduplicate-ignore-fields",
    "The columns, comma-separated, whose changes alone do not count as an update.",
)
CHANGELOG_FILE_FORMAT = option.string(
    "changelog-file.format", "The file format of changelog files; defaults to that of data files."
)
CHANGELOG_FILE_COMPRESSION = option.string(
    "changelog-file.compression", "The compression of changelog files; defaults to that of data files."
)
CHANGELOG_FILE_PREFIX = option.string(
    "changelog-file.prefix", "The prefix of the names of changelog files.", "changelog-"
)
CHANGELOG_FILE_STATS_MODE = stats_mode(
    "changelog-file.stats-mode", "The statistics that are kept for changelog files; defaults to those of data files."
)
CHANGELOG_NUM_RETAINED_MIN = option.integer.at_least(1)(
    "changelog.num-retained.min", "The minimum number of changelogs to retain if they outlive their snapshots."
)
CHANGELOG_NUM_RETAINED_MAX = option.integer.at_least(1)(
    "changelog.num-retained.max", "The maximum number of changelogs to retain if they outlive their snapshots."
)
CHANGELOG_TIME_RETAINED = option.duration(
    "changelog.time-retained", "The time for which changelogs are retained if they outlive their snapshots."
)
DELETE_FORCE_PRODUCE_CHANGELOG = option.flag(
    "delete.force-produce-changelog", "Whether a DELETE that rewrites files writes a changelog of its rows."
)

KEPT = (
    unread.flag(
        "changelog.lifecycle-decoupled",
        "Documented for changelogs that outlive their snapshots; the options of their retained time and number decide.",
    ),
)
