"""Statistics modes: how much of a column's statistics is stored, and the options that choose the mode per column."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.table.data_file import FIELD_STATS_MODE
from paimon_sql.format.schema.system_fields import KEY_PREFIX, LEVEL, ROW_ID, SEQUENCE_NUMBER, VALUE_KIND

MODE_KEY = "metadata.stats-mode"
MODE_PER_LEVEL_KEY = "metadata.stats-mode.per.level"
CHANGELOG_MODE_KEY = "changelog-file.stats-mode"
KEEP_FIRST_KEY = "metadata.stats-keep-first-n-columns"

_DEFAULT_MODE = "truncate(16)"
_TRUNCATE = re.compile(r"truncate\((\d{1,9})\)")
_SYSTEM_NAMES = frozenset({SEQUENCE_NUMBER.name, VALUE_KIND.name, LEVEL.name, ROW_ID.name, "rowkind"})


class StoredStats(Enum):
    """The stored part of a column's statistics."""

    NOTHING = "none"
    COUNTS = "counts"
    BOUNDS = "full"


@dataclass(frozen=True, slots=True)
class StatsMode:
    """A statistics mode; bounds of strings and bytes are truncated to ``length`` unless it is None."""

    kept: StoredStats
    length: int | None = None

    @classmethod
    def parse(cls, text: str, key: str = MODE_KEY) -> StatsMode:
        """Parse the value of option ``key``: ``none``, ``counts``, ``truncate(16)`` or ``full``.

        Raises:
            InvalidOptionError: it is none of these.
        """
        mode = text.strip().lower()
        if (match := _TRUNCATE.fullmatch(mode)) and int(match[1]) > 0:
            return cls(StoredStats.BOUNDS, int(match[1]))
        try:
            return cls(StoredStats(mode))
        except ValueError:
            raise InvalidOptionError(
                f"'{text}' is no value of '{key}'.",
                key=key,
                remedy="It takes none, counts, full and truncate(n) with an n of at least 1.",
            ) from None


FULL = StatsMode(StoredStats.BOUNDS)
"""Null counts and complete bounds, as for partitions in manifests."""
KEY_MODE = StatsMode(StoredStats.BOUNDS, 128)
"""The mode of key and system columns."""


def column_modes(
    options: Mapping[str, str],
    names: Sequence[str],
    *,
    level: int | None = None,
    changelog: bool = False,
    key_names: Collection[str] = (),
) -> list[StatsMode]:
    """The statistics mode of each column of a file.

    The option ``fields.<name>.stats-mode`` takes precedence. Of the other columns, system and key columns have
    truncated bounds; ``metadata.stats-keep-first-n-columns`` turns statistics off for all but the first n of the
    remaining columns; the others have the file's mode.

    Args:
        options: the table's options.
        names: the columns of the file, including system columns (``_KEY_id``).
        level: the LSM level of the file, for ``metadata.stats-mode.per.level``; None for a table without primary key.
        changelog: whether the file is a changelog file, for ``changelog-file.stats-mode``.
        key_names: the key columns if the file stores them only as value columns (``data-file.thin-mode``).
    """
    default = _file_mode(options, level, changelog)
    keep_first = _keep_first(options)
    modes = []
    seen = 0
    for name in names:
        key = FIELD_STATS_MODE.for_name(name)
        if key in options:
            modes.append(StatsMode.parse(options[key], key))
        elif name.startswith(KEY_PREFIX) or name in _SYSTEM_NAMES or name in key_names:
            modes.append(KEY_MODE)
            continue
        else:
            modes.append(default if keep_first is None or seen < keep_first else StatsMode(StoredStats.NOTHING))
        seen += 1
    return modes


def _file_mode(options: Mapping[str, str], level: int | None, changelog: bool) -> StatsMode:
    if changelog and CHANGELOG_MODE_KEY in options:
        return StatsMode.parse(options[CHANGELOG_MODE_KEY], CHANGELOG_MODE_KEY)
    if level is not None and (entries := options.get(MODE_PER_LEVEL_KEY, "").strip()):
        for entry in entries.split(","):
            at, _, mode = entry.partition(":")
            if not at.strip().isdecimal():
                raise InvalidOptionError(
                    f"'{entry}' in '{MODE_PER_LEVEL_KEY}' is no level and mode.",
                    key=MODE_PER_LEVEL_KEY,
                    remedy="Write them like 0:none,5:full.",
                )
            if int(at) == level:
                return StatsMode.parse(mode, MODE_PER_LEVEL_KEY)
    return StatsMode.parse(options.get(MODE_KEY, _DEFAULT_MODE))


def _keep_first(options: Mapping[str, str]) -> int | None:
    text = options.get(KEEP_FIRST_KEY, "-1").strip()
    try:
        count = int(text)
    except ValueError:
        raise InvalidOptionError(f"'{text}' is no whole number.", key=KEEP_FIRST_KEY) from None
    return None if count < 0 else count
