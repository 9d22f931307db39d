"""Rules about changelogs, deletion vectors and the retention of snapshots."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_PRODUCER,
)
from paimon_sql.format.options.operations.compaction import (
    FULL_COMPACTION_DELTA_COMMITS,
    PK_CLUSTERING_OVERRIDE,
    WRITE_ONLY,
)
from paimon_sql.format.options.operations.scan import (
    STREAMING_READ_APPEND_OVERWRITE,
    STREAMING_READ_OVERWRITE,
    TABLE_READ_SEQUENCE_NUMBER_ENABLED,
)
from paimon_sql.format.options.operations.snapshot import SNAPSHOT_NUM_RETAINED_MAX, SNAPSHOT_NUM_RETAINED_MIN
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import SEQUENCE_FIELD, SEQUENCE_SNAPSHOT_ORDERING
from paimon_sql.storage.schema.validation.definition import Definition, conflict


def producers(table: Definition) -> Iterator[PaimonError]:
    """Changelog producers need a primary key, and conflict with some options of reads and compactions."""
    if table.producer != "none" and not table.has_key:
        yield conflict(
            CHANGELOG_PRODUCER, f"cannot be '{table.producer}' for a table without a primary key.", "Define one."
        )
    if table.is_on(STREAMING_READ_OVERWRITE):
        if table.producer in ("full-compaction", "lookup"):
            yield conflict(
                STREAMING_READ_OVERWRITE,
                f"cannot be true with '{CHANGELOG_PRODUCER.key}' = '{table.producer}': changes would be read twice.",
            )
        if not table.has_key:
            yield conflict(
                STREAMING_READ_OVERWRITE,
                "is for tables with a primary key.",
                f"Use '{STREAMING_READ_APPEND_OVERWRITE.key}'.",
            )
    if table.producer == "lookup" and table.options.has(FULL_COMPACTION_DELTA_COMMITS):
        yield conflict(
            FULL_COMPACTION_DELTA_COMMITS,
            f"does not go with '{CHANGELOG_PRODUCER.key}' = 'lookup'.",
            f"Leave it out, or set '{CHANGELOG_PRODUCER.key}' = 'full-compaction'.",
        )
    if table.is_on(TABLE_READ_SEQUENCE_NUMBER_ENABLED) and not table.has_key:
        yield conflict(TABLE_READ_SEQUENCE_NUMBER_ENABLED, "is for tables with a primary key.", "Leave it out.")


def deletion_vectors(table: Definition) -> Iterator[PaimonError]:
    """Deletion vectors need a changelog producer that sees old rows, and a merge engine that replaces rows."""
    if not table.is_on(DELETION_VECTORS_ENABLED):
        return
    if table.producer == "full-compaction":
        yield conflict(
            DELETION_VECTORS_ENABLED,
            f"cannot be true with '{CHANGELOG_PRODUCER.key}' = 'full-compaction'.",
            "Use 'none', 'input' or 'lookup'.",
        )
    if table.has_key and table.merge_engine == "first-row" and not table.is_on(PK_CLUSTERING_OVERRIDE):
        yield conflict(
            DELETION_VECTORS_ENABLED,
            "has no use with 'merge-engine' = 'first-row', where old rows are never replaced.",
            "Leave it out.",
        )


def snapshot_ordering(table: Definition) -> Iterator[PaimonError]:
    """Snapshot ordering excludes sequence fields, and compactions must see the snapshots of their input."""
    if not table.is_on(SEQUENCE_SNAPSHOT_ORDERING):
        return
    if not table.has_key:
        yield conflict(SEQUENCE_SNAPSHOT_ORDERING, "is for tables with a primary key.", "Define one.")
    if table.options.get(SEQUENCE_FIELD):
        yield conflict(
            SEQUENCE_SNAPSHOT_ORDERING, f"does not go with '{SEQUENCE_FIELD.key}'.", "Leave one of them out."
        )
    if not table.is_on(WRITE_ONLY):
        yield conflict(
            SEQUENCE_SNAPSHOT_ORDERING,
            "needs tables that writers do not compact: rows are compacted when they have their snapshots.",
            f"Set '{WRITE_ONLY.key}' = 'true', and CALL sys.compact of the table.",
        )
    if table.bucket == POSTPONE_BUCKET:
        yield conflict(
            SEQUENCE_SNAPSHOT_ORDERING,
            "does not go with postponed buckets, whose rows get the snapshot of a compaction.",
            f"Set '{BUCKET.key}' to a number above 0, or to -1.",
        )


def retention(table: Definition) -> Iterator[PaimonError]:
    """The min number of retained versions is not above the max; changelogs default to the values of snapshots."""
    low: int | None = None
    high: int | None = None
    for min_option, max_option in (
        (SNAPSHOT_NUM_RETAINED_MIN, SNAPSHOT_NUM_RETAINED_MAX),
        (CHANGELOG_NUM_RETAINED_MIN, CHANGELOG_NUM_RETAINED_MAX),
    ):
        is_set = table.options.has(min_option)
        low = table.options.get(min_option) or low
        high = table.options.get(max_option) or high
        if low is not None and high is not None and low > high and (is_set or table.options.has(max_option)):
            yield conflict(
                max_option,
                f"cannot be {high}, less than '{min_option.key}', which is {low}{'' if is_set else ' by default'}.",
                f"Set '{min_option.key}' to {high} or less.",
            )
