"""Rules about the start of reads: the options of one scan mode exclude those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import Option, TableOptions
from paimon_sql.format.options.operations import scan
from paimon_sql.storage.metadata.definition import Definition, conflict, quoted_list

_MODE_OPTIONS: dict[str, tuple[Option[object], ...]] = {
    "from-timestamp": (scan.SCAN_TIMESTAMP_MILLIS, scan.SCAN_TIMESTAMP),
    "from-snapshot": (scan.SCAN_SNAPSHOT_ID, scan.SCAN_TAG_NAME, scan.SCAN_WATERMARK, scan.SCAN_VERSION),
    "from-file-creation-time": (scan.SCAN_FILE_CREATION_TIME_MILLIS,),
    "from-creation-timestamp": (scan.SCAN_CREATION_TIME_MILLIS,),
    "incremental": (scan.INCREMENTAL_BETWEEN, scan.INCREMENTAL_BETWEEN_TIMESTAMP, scan.INCREMENTAL_TO_AUTO_TAG),
}
"""Scan modes with their options, of which each takes exactly one; the first one with a given option is the default."""

_ALL = tuple(option for options in _MODE_OPTIONS.values() for option in options)


def start_mode(options: TableOptions) -> str:
    """The scan mode, by ``scan.mode`` or else by the given options."""
    mode = options.get(scan.SCAN_MODE)
    if mode != "default":
        return "latest-full" if mode == "full" else mode
    return next((m for m, of_mode in _MODE_OPTIONS.items() if any(options.has(o) for o in of_mode)), "latest-full")


def scan_starts(options: Mapping[str, str]) -> Iterator[PaimonError]:
    """An error for each option that contradicts another about the start of a read."""
    typed = TableOptions(options)
    mode = start_mode(typed)
    wanted = (scan.SCAN_SNAPSHOT_ID,) if mode == "from-snapshot-full" else _MODE_OPTIONS.get(mode, ())
    given = [option for option in wanted if typed.has(option)]
    if wanted and len(given) != 1:
        yield conflict(
            scan.SCAN_MODE,
            f"'{mode}' requires exactly one of {quoted_list(o.key for o in wanted)}, but {len(given)} are set.",
        )
    for option in _ALL:
        if typed.has(option) and option not in wanted:
            reason = f"'{given[0].key}'" if given else f"'{scan.SCAN_MODE.key}' = '{mode}'"
            yield conflict(option, f"cannot be combined with {reason}.", "Leave one of them out.")


def read_starts(table: Definition) -> Iterator[PaimonError]:
    """The table's options define one start."""
    yield from scan_starts(table.schema.options)


def branches(table: Definition) -> Iterator[PaimonError]:
    """A table has a fallback branch or a primary branch, not both."""
    if table.options.get(scan.SCAN_FALLBACK_BRANCH) and table.options.get(scan.SCAN_PRIMARY_BRANCH):
        yield conflict(
            scan.SCAN_FALLBACK_BRANCH,
            f"cannot be combined with '{scan.SCAN_PRIMARY_BRANCH.key}'.",
            "Leave one of them out.",
        )
