"""Rules about the start of reads: the options of one scan mode exclude those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import Option, TableOptions
from paimon_sql.format.options.operations.scan import (
    INCREMENTAL_BETWEEN,
    INCREMENTAL_BETWEEN_TIMESTAMP,
    INCREMENTAL_TO_AUTO_TAG,
    SCAN_CREATION_TIME_MILLIS,
    SCAN_FALLBACK_BRANCH,
    SCAN_FILE_CREATION_TIME_MILLIS,
    SCAN_MODE,
    SCAN_PRIMARY_BRANCH,
    SCAN_SNAPSHOT_ID,
    SCAN_TAG_NAME,
    SCAN_TIMESTAMP,
    SCAN_TIMESTAMP_MILLIS,
    SCAN_VERSION,
    SCAN_WATERMARK,
)
from paimon_sql.storage.schema.validation.definition import Definition, conflict, quoted_list

_MODE_OPTIONS: dict[str, tuple[Option[object], ...]] = {
    "from-timestamp": (SCAN_TIMESTAMP_MILLIS, SCAN_TIMESTAMP),
    "from-snapshot": (SCAN_SNAPSHOT_ID, SCAN_TAG_NAME, SCAN_WATERMARK, SCAN_VERSION),
    "from-file-creation-time": (SCAN_FILE_CREATION_TIME_MILLIS,),
    "from-creation-timestamp": (SCAN_CREATION_TIME_MILLIS,),
    "incremental": (INCREMENTAL_BETWEEN, INCREMENTAL_BETWEEN_TIMESTAMP, INCREMENTAL_TO_AUTO_TAG),
}
"""Scan modes with their options, of which each takes exactly one; the first one with a given option is the default."""

_ALL = tuple(option for options in _MODE_OPTIONS.values() for option in options)


def start_mode(options: TableOptions) -> str:
    """The scan mode, by ``scan.mode`` or else by the given options."""
    mode = options.get(SCAN_MODE)
    if mode != "default":
        return "latest-full" if mode == "full" else mode
    return next((m for m, of_mode in _MODE_OPTIONS.items() if any(options.has(o) for o in of_mode)), "latest-full")


def scan_starts(options: Mapping[str, str]) -> Iterator[PaimonError]:
    """An error for each option that contradicts another about the start of a read."""
    typed = TableOptions(options)
    mode = start_mode(typed)
    wanted = (SCAN_SNAPSHOT_ID,) if mode == "from-snapshot-full" else _MODE_OPTIONS.get(mode, ())
    given = [option for option in wanted if typed.has(option)]
    if wanted and len(given) != 1:
        yield conflict(
            SCAN_MODE, f"'{mode}' takes exactly one of {quoted_list(o.key for o in wanted)}; given are {len(given)}."
        )
    for option in _ALL:
        if typed.has(option) and option not in wanted:
            reason = f"'{given[0].key}'" if given else f"'{SCAN_MODE.key}' = '{mode}'"
            yield conflict(option, f"does not go with {reason}.", "Leave one of them out.")


def read_starts(table: Definition) -> Iterator[PaimonError]:
    """The table's options define one start."""
    yield from scan_starts(table.schema.options)


def branches(table: Definition) -> Iterator[PaimonError]:
    """A table has a fallback branch or a primary branch, not both."""
    if table.options.get(SCAN_FALLBACK_BRANCH) and table.options.get(SCAN_PRIMARY_BRANCH):
        yield conflict(SCAN_FALLBACK_BRANCH, f"does not go with '{SCAN_PRIMARY_BRANCH.key}'.", "Leave one of them out.")
