"""Times read from text field by field, and put together, as Java's ``DateTimeFormatter`` does it for the root locale.

Reading is strict: signs and numbers of digits are as the pattern says. Putting together is smart, where 31 April is
30 April and 24:00 the next midnight, or lenient, where month 13 is January of the next year.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

NANOS_A_SECOND = 1_000_000_000
NANOS_A_DAY = 86_400 * NANOS_A_SECOND
_FARTHEST_YEAR = 999_999_999
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_TIME_LIMITS = {"hour": 23, "minute": 59, "second": 59, "nano": NANOS_A_SECOND - 1}
_MIDDLE = 6
"""The hour of a half day of which nothing more is told."""
_HOURS = {"clock hour": 24, "hour of half": 11, "clock hour of half": 12}

Values = dict[str, int]
"""What was read: numbers by field."""


class Sign(Enum):
    """Which signs a number may have."""

    NEVER = "never"
    NEGATIVE = "negative"
    EXCEEDS = "exceeds"
    """A minus, and a plus exactly where there are more digits than the least."""


@dataclass(frozen=True)
class Number:
    """Digits; the last ``reserved`` of them belong to the fields behind it, as far as ``least`` remain."""

    field: str
    least: int
    most: int
    sign: Sign = Sign.NEVER
    reserved: int = 0
    scale: int = 1
    base: int = 0

    @property
    def is_fixed(self) -> bool:
        """Whether it always has the same number of digits."""
        return self.least == self.most and self.sign is Sign.NEVER

    def read(self, text: str, at: int, values: Values) -> int | None:
        """Where the field ends that begins at a place, its value being put to the others; None if it does not fit."""
        sign = text[at : at + 1] if text[at : at + 1] in ("+", "-") else ""
        if sign and (self.sign is Sign.NEVER or (sign == "+" and self.sign is not Sign.EXCEEDS)):
            return None
        start = at + len(sign)
        count = _digits(text, start, self.most + self.reserved)
        if self.reserved:
            count = max(self.least, count - self.reserved) if count >= self.least else count
        if count < self.least:
            return None
        if self.sign is Sign.EXCEEDS and sign != "-" and (sign == "+") != (count > self.least):
            return None
        number = int(text[start : start + count])
        if sign == "-" and not number:
            return None
        number = (-number if sign == "-" else number) * self.scale + self.base
        return start + count if _put(values, self.field, number) else None


@dataclass(frozen=True)
class Fraction:
    """A point and the digits behind it, as nanoseconds."""

    least: int
    most: int

    def read(self, text: str, at: int, values: Values) -> int | None:
        """As `Number.read`."""
        count = _digits(text, at + 1, self.most)
        if text[at : at + 1] != "." or count < self.least:
            return None
        digits = text[at + 1 : at + 1 + count]
        return at + 1 + count if _put(values, "nano", int(f"{digits:0<9}")) else None


@dataclass(frozen=True)
class Word:
    """One of some words, none of which begins with another; ``first`` is the number of the first."""

    field: str
    words: tuple[str, ...]
    first: int

    def read(self, text: str, at: int, values: Values) -> int | None:
        """As `Number.read`."""
        for number, word in enumerate(self.words, self.first):
            if text.startswith(word, at):
                return at + len(word) if _put(values, self.field, number) else None
        return None


@dataclass(frozen=True)
class Literal:
    """Text that stands there as it is."""

    text: str

    def read(self, text: str, at: int, values: Values) -> int | None:
        """As `Number.read`."""
        return at + len(self.text) if text.startswith(self.text, at) else None


@dataclass(frozen=True)
class Maybe:
    """Parts that stand there all or not at all."""

    parts: tuple[Part, ...]

    def read(self, text: str, at: int, values: Values) -> int | None:
        """As `Number.read`."""
        found = dict(values)
        end = _read_all(self.parts, text, at, found)
        if end is None:
            return at
        values.update(found)
        return end


Part = Number | Fraction | Word | Literal | Maybe
"""What a pattern is made of."""


def read_time(parts: Sequence[Part], text: str, *, lenient: bool) -> int | None:
    """The time that a text tells: nanoseconds since 1970-01-01 00:00 on the wall clock.

    Args:
        parts: what the text consists of.
        text: the text.
        lenient: whether numbers may be too great for their place.

    Returns:
        The time, midnight if the text tells a date alone; None if it tells no date or an impossible time.
    """
    values: Values = {}
    if _read_all(parts, text, 0, values) != len(text):
        return None
    days = _date(values, lenient=lenient)
    if days is None:
        return None
    time = _time(values, lenient=lenient)
    return None if time is None else days * NANOS_A_DAY + time


def _read_all(parts: Sequence[Part], text: str, at: int, values: Values) -> int | None:
    for part in parts:
        end = part.read(text, at, values)
        if end is None:
            return None
        at = end
    return at


def _digits(text: str, start: int, most: int) -> int:
    """How many ASCII digits stand there."""
    piece = text[start : start + most]
    return next((i for i, c in enumerate(piece) if c not in "0123456789"), len(piece))


def _put(values: Values, field: str, number: int) -> bool:
    """Whether a field can have that value: one that occurs twice must have the same."""
    return values.setdefault(field, number) == number


def _date(values: Values, *, lenient: bool) -> int | None:
    """The day's number since 1970; None without a whole and possible date."""
    year = _year(values)
    if year is None:
        return None
    month, day, day_of_year = (values.get(name) for name in ("month", "day", "day of year"))
    january = _first_day((year - 1970) * 12)
    if month is not None and day is not None:
        if not lenient:
            if not (1 <= month <= 12 and 1 <= day <= 31):
                return None
            day = min(day, _LENGTHS[month - 1] + (month == 2 and calendar.isleap(year)))
        days = _first_day((year - 1970) * 12 + month - 1) + day - 1
        if day_of_year is not None and days != january + day_of_year - 1:
            return None
    elif day_of_year is not None and 1 <= day_of_year <= 365 + calendar.isleap(year):
        days = january + day_of_year - 1
    else:
        return None
    weekday = values.get("weekday")
    return days if weekday is None or (days + 3) % 7 + 1 == weekday else None


def _year(values: Values) -> int | None:
    year, of_era = values.get("year"), values.get("year of era")
    if of_era is not None:
        if of_era < 1 or (year is not None and year not in (of_era, 1 - of_era)):
            return None
        year = of_era if year is None else year
    return None if year is None or abs(year) > _FARTHEST_YEAR else year


def _time(values: Values, *, lenient: bool) -> int | None:
    """Nanoseconds since midnight; 0 where no whole time of day is told, None for an impossible one."""
    values = dict(values)
    if any(not 0 <= values.get(name, 0) <= most for name, most in _HOURS.items()):
        return None
    of_half = values.get("hour of half")
    if (clock := values.get("clock hour of half")) is not None:
        if of_half is not None and of_half != clock % 12:
            return None
        of_half = clock % 12
    if (clock := values.get("clock hour")) is not None and not _put(values, "hour", clock % 24):
        return None
    if "half" in values and "hour" not in values:
        values["hour"] = values["half"] * 12 + (_MIDDLE if of_half is None else of_half)
    elif "half" in values and of_half is not None and values["hour"] != values["half"] * 12 + of_half:
        return None
    known = [name in values for name in _TIME_LIMITS]
    parts = {name: values.get(name, 0) for name in _TIME_LIMITS}
    next_midnight = parts == {"hour": 24, "minute": 0, "second": 0, "nano": 0}
    if not lenient and not next_midnight and any(not 0 <= parts[name] <= most for name, most in _TIME_LIMITS.items()):
        return None
    if not known[0] or sorted(known, reverse=True) != known:
        return 0
    seconds = parts["hour"] * 3600 + parts["minute"] * 60 + parts["second"]
    return seconds * NANOS_A_SECOND + parts["nano"]


def _first_day(months: int) -> int:
    """The number of the first day of a month, which is counted from January 1970."""
    return int(np.datetime64(months, "M").astype("M8[D]").astype(np.int64))
