"""Parsing of arguments: options, times, durations, lists of names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta, tzinfo

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.options import find_option, nearest_key
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.text.durations import parse_duration
from paimon_sql.format.text.instants import parse_instant

OPTIONS = "Options for this call, as 'k=v,k=v'."
DRY_RUN = "Only say what would be done."
OLDER_THAN = "Between the two, only older ones go: '2024-01-31 08:00:00' of the session's clock."
MAX_DELETES = "How many go at most in this call."
"""Meanings of the arguments of these names."""
NOTHING_DONE = "dry run, nothing was changed"


def options_of(text: str | None) -> dict[str, str]:
    """Parse the options of a call, ``k=v,k=v``; empty without text.

    Raises:
        InvalidOptionError: a pair has no ``=``, a key is unknown, or a value is invalid.
    """
    found: dict[str, str] = {}
    for pair in comma_separated(text or ""):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key:
            raise InvalidOptionError(f"'{pair}' is no option.", key=pair, remedy="Write k=v,k=v.")
        found[key] = value
    return checked_options(found)


def checked_options(given: Mapping[str, str]) -> dict[str, str]:
    """Validate options and return them.

    Raises:
        InvalidOptionError: a key is unknown, or a value is invalid.
    """
    for key, value in given.items():
        option = find_option(key)
        if option is None:
            near = nearest_key(key)
            remedy = f"Did you mean {near}?" if near else None
            raise InvalidOptionError(f"There is no option '{key}'.", key=key, remedy=remedy)
        option.read(value, key)
    return dict(given)


def instant_of(text: str | None, zone: tzinfo | None) -> int | None:
    """Parse a time, ``2024-01-31 08:00:00``, to milliseconds since the epoch; None without text.

    Args:
        text: the text.
        zone: the time zone; None for this machine's.

    Raises:
        InvalidInputError: the text is not a time.
    """
    return parse_instant(text, zone) if text and text.strip() else None


def duration_of(text: str | None, argument: str) -> timedelta | None:
    """Parse a duration, ``36 h``, ``2 d`` or ``90 min``; None without text.

    Args:
        text: the text.
        argument: the argument's name.

    Raises:
        InvalidInputError: the text is not a duration.
    """
    if text is None or not text.strip():
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InvalidInputError(f"{argument}: {error}.") from error


def names_of(text: str, argument: str) -> list[str]:
    """Parse names, separated by commas.

    Raises:
        InvalidInputError: there is no name.
    """
    names = list(comma_separated(text))
    if not names:
        raise InvalidInputError(f"{argument} must not be blank.")
    return names


def boolean_of(text: str | None, argument: str) -> bool:
    """Parse a boolean, ``'true'`` or ``'false'`` in any case; False without text.

    Raises:
        InvalidInputError: the text is neither.
    """
    known = {"": False, "false": False, "true": True}
    found = known.get((text or "").strip().lower())
    if found is None:
        raise InvalidInputError(f"{argument} cannot be '{text}'.", remedy="It is 'true' or 'false'.")
    return found
