"""How much of a column's statistics a writer keeps: the modes, and the options that choose one for each column."""

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


class Kept(Enum):
    """What a mode keeps of a column's statistics."""

    NOTHING = "none"
    COUNTS = "counts"
    BOUNDS = "full"


@dataclass(frozen=True, slots=True)
class StatsMode:
    """What is kept of a column's statistics; bounds of text and bytes are cut to ``length`` unless it is None."""

    kept: Kept
    length: int | None = None

    @classmethod
    def parse(cls, text: str, key: str = MODE_KEY) -> StatsMode:
        """A mode as options write it: ``none``, ``counts``, ``truncate(16)`` or ``full``; ``key`` names the option."""
        mode = text.strip().lower()
        if (match := _TRUNCATE.fullmatch(mode)) and int(match[1]) > 0:
            return cls(Kept.BOUNDS, int(match[1]))
        try:
            return cls(Kept(mode))
        except ValueError:
            raise InvalidOptionError(
                f"'{text}' is no value of '{key}'.",
                key=key,
                remedy="It takes none, counts, full and truncate(n) with an n of at least 1.",
            ) from None


FULL = StatsMode(Kept.BOUNDS)
"""Null counts and uncut bounds: what manifests say of partitions."""
KEY_MODE = StatsMode(Kept.BOUNDS, 128)
"""What is always kept of key columns."""


def column_modes(
    options: Mapping[str, str],
    names: Sequence[str],
    *,
    level: int | None = None,
    changelog: bool = False,
    key_names: Collection[str] = (),
) -> list[StatsMode]:
    """The mode of each column of a file.

    A column's own option ``fields.<name>.stats-mode`` goes first. Of the other columns, those of the system and the
    keys keep cut bounds; then ``metadata.stats-keep-first-n-columns`` silences all but the first n columns; the rest
    follows the file's mode.

    Args:
        options: the table's options.
        names: the columns of the file in order, system columns by their own names (``_KEY_id``).
        level: the LSM level of the file, for ``metadata.stats-mode.per.level``; None in a table without keys.
        changelog: whether it is a changelog file, for ``changelog-file.stats-mode``.
        key_names: the key columns when the file holds them only as value columns (``data-file.thin-mode``).
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
            modes.append(default if keep_first is None or seen < keep_first else StatsMode(Kept.NOTHING))
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
