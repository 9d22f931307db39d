"""Rules about the start of reads: the options of one scan mode exclude those of the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import Option
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


def read_starts(table: Definition) -> Iterator[PaimonError]:
    """The table's options define one start: none contradicts another."""
    options, mode = table.options, table.options.get(scan.SCAN_MODE)
    if mode == "default":
        mode = next((m for m, of_mode in _MODE_OPTIONS.items() if any(options.has(o) for o in of_mode)), "full")
    mode = "latest-full" if mode == "full" else mode
    wanted = (scan.SCAN_SNAPSHOT_ID,) if mode == "from-snapshot-full" else _MODE_OPTIONS.get(mode, ())
    given = [option for option in wanted if options.has(option)]
    if wanted and len(given) != 1:
        yield conflict(
            scan.SCAN_MODE,
            f"'{mode}' requires exactly one of {quoted_list(o.key for o in wanted)}, but {len(given)} are set.",
        )
    for option in chain.from_iterable(_MODE_OPTIONS.values()):
        if options.has(option) and option not in wanted:
            reason = f"'{given[0].key}'" if given else f"'{scan.SCAN_MODE.key}' = '{mode}'"
            yield conflict(option, f"cannot be combined with {reason}.", "Leave one of them out.")


def branches(table: Definition) -> Iterator[PaimonError]:
    """A table has a fallback branch or a primary branch, not both."""
    if table.options.get(scan.SCAN_FALLBACK_BRANCH) and table.options.get(scan.SCAN_PRIMARY_BRANCH):
        yield conflict(
            scan.SCAN_FALLBACK_BRANCH,
            f"cannot be combined with '{scan.SCAN_PRIMARY_BRANCH.key}'.",
            "Leave one of them out.",
        )
