"""Time patterns of Java's ``DateTimeFormatter``, for ``partition.timestamp-formatter``.

Spec: the documentation of that class. ``yyyyMMdd`` parses four, two and two digits, ``M`` one or more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.text.time_fields import Fraction, Literal, Maybe, Number, Part, Sign, Word, read_time

_MAX_DIGITS = 19
_CENTURY = 2000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
"""Names in Java's root locale, which has only short names."""


class TimePattern:
    """A pattern such as ``yyyy-MM-dd HH:mm:ss``.

    Args:
        pattern: the pattern. Its letters are y u M L d D E H k K h a m s S n; other text is quoted by apostrophes, and
            optional parts are in brackets.

    Raises:
        InvalidInputError: it is not such a pattern.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._parts = _compiled(pattern)

    def parse(self, text: str) -> int | None:
        """Parse a time to nanoseconds since 1970-01-01 00:00 on the wall clock.

        Returns:
            The time, midnight if the text has only a date; None if it does not match the pattern or is invalid.
        """
        return read_time(self._parts, text, lenient=False)


def parse_plain_time(text: str) -> int | None:
    """Parse ``2024-1-31`` or ``2024-01-31 08:00:00.5``, with the result of `TimePattern.parse`.

    Numbers may exceed the range of their field: month 13 is January of the next year.
    """
    return read_time(_PLAIN, text, lenient=True)


def _plain(name: str, max_digits: int = 2) -> Number:
    return Number(name, 1, max_digits, Sign.NEGATIVE)


_PLAIN: tuple[Part, ...] = (
    *(_plain("year", 10), Literal("-"), _plain("month"), Literal("-"), _plain("day")),
    Maybe(
        (
            *(Literal(" "), _plain("hour"), Literal(":"), _plain("minute"), Literal(":"), _plain("second")),
            Maybe((Fraction(1, 9),)),
        )
    ),
)


@dataclass
class _Level:
    """The parts between two brackets; ``head`` is the number that reserves digits for the adjacent numbers after it."""

    parts: list[Part] = field(default_factory=list)
    head: int | None = None

    def add(self, part: Part) -> None:
        """Add a part; a number of a fixed width reserves its digits at the head that it is adjacent to."""
        head = None if self.head is None else self.parts[self.head]
        if not isinstance(part, Number):
            self.head = None
        elif not isinstance(head, Number) or self.head is None:
            self.head = len(self.parts)
        elif part.is_fixed:
            self.parts[self.head] = replace(head, reserved=head.reserved + part.most)
        else:
            self.parts[self.head] = replace(head, reserved=0)
            self.head = len(self.parts)
        self.parts.append(part)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[Part, ...]:
    levels, at = [_Level()], 0

    def close() -> None:
        inner = levels.pop()
        levels[-1].add(Maybe(tuple(inner.parts)))

    while at < len(pattern):
        letter, start = pattern[at], at
        at += 1
        if letter == "'":
            text, at = _quoted(pattern, start)
            levels[-1].add(Literal(text))
        elif letter.isascii() and letter.isalpha():
            while pattern[at : at + 1] == letter:
                at += 1
            levels[-1].add(_field(pattern, letter, at - start))
        elif letter == "[":
            levels[-1].head = None
            levels.append(_Level())
        elif letter == "]":
            if len(levels) == 1:
                raise _invalid(pattern, "a ']' has no '[' before it")
            close()
        elif letter in "{}#":
            raise _invalid(pattern, f"'{letter}' has no meaning")
        else:
            levels[-1].add(Literal(letter))
    while len(levels) > 1:
        close()
    return tuple(levels[0].parts)


def _quoted(pattern: str, start: int) -> tuple[str, int]:
    """Parse quoted text, where two apostrophes are one; with its end offset."""
    at, text = start + 1, ""
    while at < len(pattern):
        if pattern[at] != "'":
            text += pattern[at]
        elif pattern[at + 1 : at + 2] == "'":
            text, at = text + "'", at + 1
        else:
            return text or "'", at + 1
        at += 1
    raise _invalid(pattern, "an apostrophe is not closed")


def _field(pattern: str, letter: str, count: int) -> Part:
    make = _LETTERS.get(letter)
    if make is None:
        raise _invalid(pattern, f"'{letter}' is not a field of a date or time of day")
    part = make(count)
    if part is None:
        raise _invalid(pattern, f"'{letter}' cannot be repeated {count} times")
    return part


def _invalid(pattern: str, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"'{pattern}' is not a time pattern: {why}.",
        remedy="Use a pattern such as yyyy-MM-dd HH:mm:ss, with other text between apostrophes: yyyy-MM-dd'T'HH.",
    )


def _short(name: str) -> Callable[[int], Part | None]:
    """A number: of any digits for one letter, of two digits for two letters."""

    def make(count: int) -> Part | None:
        if count == 1:
            return Number(name, 1, _MAX_DIGITS, Sign.NEGATIVE)
        return Number(name, 2, 2) if count == 2 else None

    return make


def _year(name: str) -> Callable[[int], Part | None]:
    def make(count: int) -> Part | None:
        if count == 2:
            return Number(name, 2, 2, base=_CENTURY)
        sign = Sign.NEGATIVE if count < 4 else Sign.EXCEEDS
        return Number(name, count, _MAX_DIGITS, sign) if count <= _MAX_DIGITS else None

    return make


def _day_of_year(count: int) -> Part | None:
    if count == 1:
        return Number("day of year", 1, _MAX_DIGITS, Sign.NEGATIVE)
    return Number("day of year", count, 3) if count < 4 else None


def _month(count: int) -> Part | None:
    return _short("month")(count) if count < 3 else Word("month", _MONTHS, 1) if count < 5 else None


_LETTERS: dict[str, Callable[[int], Part | None]] = {
    "y": _year("year of era"),
    "u": _year("year"),
    "M": _month,
    "L": _month,
    "d": _short("day"),
    "D": _day_of_year,
    "E": lambda count: Word("weekday", _WEEKDAYS, 1) if count < 5 else None,
    "H": _short("hour"),
    "k": _short("clock hour"),
    "K": _short("hour of half"),
    "h": _short("clock hour of half"),
    "a": lambda count: Word("half", ("AM", "PM"), 0) if count == 1 else None,
    "m": _short("minute"),
    "s": _short("second"),
    "S": lambda count: Number("nano", count, count, scale=10 ** (9 - count)) if count < 10 else None,
    "n": lambda count: Number("nano", count, _MAX_DIGITS, Sign.NEGATIVE) if count <= _MAX_DIGITS else None,
}
