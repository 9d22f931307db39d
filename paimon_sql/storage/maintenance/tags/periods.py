"""Periods of automatic tags, and the names of tags by period.

Times are milliseconds since 1970-01-01 00:00 of a wall clock, without a zone. A tag is named by the start of its period
and created after its end: the tag ``2024-01-31`` of a daily period has the state of the table when that day ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.tag import (
    TAG_CREATION_DELAY,
    TAG_CREATION_PERIOD,
    TAG_CREATION_PERIOD_DURATION,
    TAG_PERIOD_FORMATTER,
)
from paimon_sql.format.text.durations import MILLISECOND

_EPOCH = datetime(1970, 1, 1)
_DASHES, _PLAIN, _COMPACT = "with_dashes", "without_dashes", "without_dashes_and_spaces"

_LENGTHS = {"daily": timedelta(days=1), "hourly": timedelta(hours=1), "two-hours": timedelta(hours=2)}
_NAMES: Mapping[str, Mapping[str, str]] = {
    "daily": {_DASHES: "{0}-{1}-{2}", _PLAIN: "{0}{1}{2}", _COMPACT: "{0}{1}{2}"},
    "hourly": {_DASHES: "{0}-{1}-{2} {3}", _PLAIN: "{0}{1}{2} {3}", _COMPACT: "{0}{1}{2}{3}"},
    "two-hours": dict.fromkeys((_DASHES, _PLAIN, _COMPACT), "{0}-{1}-{2} {3}"),
}
_BY_MINUTE = "{0}{1}{2}{3}{4}"
_DIGITS = (4, 2, 2, 2, 2)


@dataclass(frozen=True)
class TagPeriod:
    """A repeating period.

    Attributes:
        length: its length in milliseconds.
        form: the format of names, with fields for year, month, day, hour and minute.
        daily: whether a name may continue after a space, as the names of shorter periods do.
    """

    length: int
    form: str
    daily: bool = False

    @classmethod
    def of(cls, options: TableOptions) -> TagPeriod:
        """Return the period of a table's options.

        Raises:
            InvalidOptionError: its length is zero, or not longer than the creation delay.
        """
        given: timedelta | None = options.get(TAG_CREATION_PERIOD_DURATION)
        kind = options.get(TAG_CREATION_PERIOD)
        length = _LENGTHS[kind] if given is None else given
        delay: timedelta = options.get(TAG_CREATION_DELAY)
        if length // MILLISECOND < 1:
            key = TAG_CREATION_PERIOD_DURATION.key
            raise InvalidOptionError(f"The option '{key}' must be longer than no time at all.", key=key)
        if delay >= length:
            key = TAG_CREATION_DELAY.key
            raise InvalidOptionError(
                f"The option '{key}' must be shorter than the span of time for which a tag is made.",
                key=key,
                remedy=f"Shorten it, or choose a longer '{TAG_CREATION_PERIOD.key}'.",
            )
        form = _NAMES[kind][options.get(TAG_PERIOD_FORMATTER)] if given is None else _BY_MINUTE
        return cls(length // MILLISECOND, form, daily=given is None and kind == "daily")

    def before(self, wall_millis: int) -> int:
        """Return the start of the last period that ended at or before a time."""
        return (wall_millis // self.length - 1) * self.length

    def name_of(self, wall_millis: int) -> str | None:
        """Return the name of the tag for the period that starts at a time; None outside of the years 1 to 9999."""
        try:
            at = _EPOCH + timedelta(milliseconds=wall_millis)
        except OverflowError:
            return None
        parts = (at.year, at.month, at.day, at.hour, at.minute)
        return self.form.format(*(f"{part:0{width}d}" for part, width in zip(parts, _DIGITS, strict=True)))

    def time_of(self, name: str) -> int | None:
        """Return the start of the period by a tag's name, None for other names."""
        text = name.split(" ")[0] if self.daily else name
        match = re.fullmatch(self.form.format(*(f"([0-9]{{{width}}})" for width in _DIGITS)), text)
        try:
            return (datetime(*map(int, match.groups())) - _EPOCH) // MILLISECOND if match else None  # type: ignore[arg-type]
        except ValueError:
            return None
