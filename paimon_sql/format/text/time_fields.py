"""Parsing of times by fields, and their resolution, like Java's ``DateTimeFormatter`` for the root locale.

Parsing is strict: signs and numbers of digits must match the pattern. Resolution is smart, where 31 April is 30 April
and 24:00 the next midnight, or lenient, where month 13 is January of the next year.
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
"""The hour of a half day (AM or PM) without an hour."""
_HOURS = {"clock hour": 24, "hour of half": 11, "clock hour of half": 12}

Values = dict[str, int]
"""Parsed numbers by field."""


class Sign(Enum):
    """The allowed signs of a number."""

    NEVER = "never"
    NEGATIVE = "negative"
    EXCEEDS = "exceeds"
    """A minus, and a plus exactly if there are more digits than the min."""


@dataclass(frozen=True)
class Number:
    """A number; its last ``reserved`` digits belong to the fields after it, unless less than ``least`` would remain."""

    field: str
    least: int
    most: int
    sign: Sign = Sign.NEVER
    reserved: int = 0
    scale: int = 1
    base: int = 0

    @property
    def is_fixed(self) -> bool:
        """Whether the number of digits is fixed."""
        return self.least == self.most and self.sign is Sign.NEVER

    def read(self, text: str, at: int, values: Values) -> int | None:
        """Parse the field at an offset and add it to ``values``.

        Returns:
            The end offset of the field; None if the text does not match.
        """
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
    """A point and the digits after it, as nanoseconds."""

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
    """One of some words, none of which is a prefix of another; ``first`` is the number of the first."""

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
    """Literal text."""

    text: str

    def read(self, text: str, at: int, values: Values) -> int | None:
        """As `Number.read`."""
        return at + len(self.text) if text.startswith(self.text, at) else None


@dataclass(frozen=True)
class Maybe:
    """Optional parts: all of them or none."""

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
"""A part of a pattern."""


def read_time(parts: Sequence[Part], text: str, *, lenient: bool) -> int | None:
    """Parse a time to nanoseconds since 1970-01-01 00:00 on the wall clock.

    Args:
        parts: the parts of the pattern.
        text: the text.
        lenient: whether numbers may exceed the range of their field.

    Returns:
        The time, midnight if the text has only a date; None if it does not match, lacks a date or is an invalid time.
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


def _digits(text: str, start: int, maximum: int) -> int:
    """The number of consecutive ASCII digits from ``start`` on."""
    piece = text[start : start + maximum]
    return next((i for i, c in enumerate(piece) if c not in "0123456789"), len(piece))


def _put(values: Values, field: str, number: int) -> bool:
    """Set the value of a field; False if it has another value already."""
    return values.setdefault(field, number) == number


def _date(values: Values, *, lenient: bool) -> int | None:
    """The days since 1970-01-01; None if the date is incomplete or invalid."""
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
    """Nanoseconds since midnight; 0 if the time of day is incomplete, None if it is invalid."""
    values = dict(values)
    if any(not 0 <= values.get(name, 0) <= limit for name, limit in _HOURS.items()):
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
    if not lenient and not next_midnight and any(not 0 <= parts[name] <= limit for name, limit in _TIME_LIMITS.items()):
        return None
    if not known[0] or sorted(known, reverse=True) != known:
        return 0
    seconds = parts["hour"] * 3600 + parts["minute"] * 60 + parts["second"]
    return seconds * NANOS_A_SECOND + parts["nano"]


def _first_day(months: int) -> int:
    """Days since 1970-01-01 of the first day of a month, counted from January 1970."""
    return int(np.datetime64(months, "M").astype("M8[D]").astype(np.int64))
