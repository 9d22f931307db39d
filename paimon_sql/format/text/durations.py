"""Durations in options and tags: ``1 h``, ``36h``, ``2 min``, ``500`` (milliseconds), ``PT1H30M``."""

from __future__ import annotations

import re
from datetime import timedelta

MILLISECOND = timedelta(milliseconds=1)
"""Divisor for conversion of a timedelta to milliseconds, with ``//``."""

_UNITS = {
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("h", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), MILLISECOND),
    **dict.fromkeys(("µs", "μs", "us", "micro", "micros", "microsecond", "microseconds"), timedelta(microseconds=1)),
}
_NANOSECONDS = frozenset(("ns", "nano", "nanos", "nanosecond", "nanoseconds"))
_PLAIN = re.compile(r"(\d+)(\D*)")
_ISO = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?=[+\-\d])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE,
)


def parse_duration(text: str) -> timedelta:
    """Parse a duration (Paimon: `TimeUtils.parseDuration`); a number without a unit is milliseconds.

    Nanoseconds are truncated to microseconds, and values beyond the range of timedelta become its max.

    Raises:
        ValueError: the text is not a duration; the message has examples.
    """
    words = text.strip()
    try:
        if plain := _PLAIN.fullmatch(words):
            unit = plain[2].strip().lower()
            if unit in _NANOSECONDS:
                return timedelta(microseconds=int(plain[1]) // 1000)
            if unit in _UNITS:
                return int(plain[1]) * _UNITS[unit]
        elif (iso := _ISO.fullmatch(words)) and any(iso.group(2, 3, 4, 5)):
            days, hours, minutes, seconds = (part or "0" for part in iso.group(2, 3, 4, 5))
            integral, _, fraction = seconds.partition(".")
            micros = int(f"{fraction[:6]:0<6}") * (-1 if integral.startswith("-") else 1)
            length = timedelta(int(days), int(integral), micros, 0, int(minutes), int(hours))
            return -length if iso[1] == "-" else length
    except OverflowError:
        return timedelta.max
    raise ValueError(f"'{text}' is not a duration such as '10 s', '5 min', '1 h', '7 d' or 'PT1H'")


def format_duration(length: timedelta) -> str:
    """Format a duration in the largest unit of which it is an integer multiple, such as ``90 min``."""
    for unit in ("d", "h", "min", "s", "ms"):
        if length % _UNITS[unit] == timedelta(0) and (length or unit == "ms"):
            return f"{length // _UNITS[unit]} {unit}"
    return f"{length // timedelta(microseconds=1)} µs"
