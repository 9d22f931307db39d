"""Parsing of arguments: options, times, durations, lists of names, regular expressions, and the tables that match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta, tzinfo

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.options import find_option, nearest_key
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.text.durations import parse_duration
from paimon_sql.format.text.instants import parse_instant
from paimon_sql.procedures.base import DryRun, optional

OPTIONS = "Options for this call, as 'k=v,k=v'."
OLDER_THAN = "Between the two limits, only expire older ones: '2024-01-31 08:00:00' in the session's time zone."
MAX_DELETES = "Maximum number to expire in this call."
"""Meanings of the arguments of these names."""
NOTHING_DONE = "dry run, nothing was changed"


def options_of(text: str | None) -> dict[str, str]:
    """Parse the options of a call, ``k=v,k=v``; empty without text.

    Raises:
        InvalidOptionError: a pair has no ``=``, a key is unknown, or a value is invalid.
    """
    return checked_options(pairs_of(text))


def pairs_of(text: str | None) -> dict[str, str]:
    """Parse options of any keys, ``k=v,k=v``; empty without text.

    Raises:
        InvalidOptionError: a pair has no ``=``.
    """
    found: dict[str, str] = {}
    for pair in comma_separated(text or ""):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key:
            raise InvalidOptionError(f"'{pair}' is not an option.", key=pair, remedy="Write k=v,k=v.")
        found[key] = value
    return found


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


def names_of(text: str, argument: str, exists: Callable[[str], bool]) -> list[str]:
    """Parse names, separated by commas; a name that holds commas is one, if it ``exists``.

    Raises:
        InvalidInputError: there is no name.
    """
    names = list(comma_separated(text))
    if not names:
        raise InvalidInputError(f"{argument} must not be blank.")
    return [text] if len(names) > 1 and exists(text) else names


def boolean_of(text: str | None, argument: str) -> bool:
    """Parse a boolean, ``'true'`` or ``'false'`` in any case; False without text.

    Raises:
        InvalidInputError: the text is neither.
    """
    known = {"": False, "false": False, "true": True}
    found = known.get((text or "").strip().lower())
    if found is None:
        raise InvalidInputError(f"{argument} cannot be '{text}'.", remedy="Use 'true' or 'false'.")
    return found


def positive(parallelism: int | None) -> int | None:
    """The argument ``parallelism``; None if it is omitted.

    Raises:
        InvalidInputError: the number is not positive.
    """
    if parallelism is not None and parallelism < 1:
        raise InvalidInputError(f"parallelism cannot be {parallelism}.", remedy="Use a number greater than 0.")
    return parallelism


def name_filter(text: str | None, argument: str, default: str) -> Callable[[str], bool]:
    """Whether a full name matches the regular expression of an argument; ``default`` if it is omitted or blank.

    RE2 matches in linear time, so that no expression can block the process. Python's engine is used for expressions
    that RE2 does not support (lookarounds, back references).

    Raises:
        InvalidInputError: the text is not a regular expression.
    """
    expression = text if text and text.strip() else default

    def matches(name: str) -> bool:
        return bool(pc.match_substring_regex(pa.scalar(name), f"^(?:{expression})$").as_py())

    try:
        matches("")
    except pa.ArrowInvalid:
        try:
            compiled = re.compile(expression)
        except re.error as error:
            raise InvalidInputError(f"{argument}: '{text}' is not a regular expression: {error}.") from error
        return lambda name: compiled.fullmatch(name) is not None
    return matches


class TableExpressions(DryRun, kw_only=True):
    """The arguments by which `matching_tables` chooses tables."""

    including_databases: str | None = optional("A regular expression for databases; all by default.")
    including_tables: str | None = optional("A regular expression for tables, as 'db.t'; all by default.")
    excluding_tables: str | None = optional("A regular expression for tables to exclude.")


def matching_tables(catalog: Catalog, given: TableExpressions) -> Iterator[Identifier]:
    """The tables of a catalog that match the expressions, sorted by name.

    Raises:
        InvalidInputError: an argument is not a regular expression.
    """
    has_database = name_filter(given.including_databases, "including_databases", ".*")
    includes = name_filter(given.including_tables, "including_tables", ".*")
    excludes = name_filter(given.excluding_tables, "excluding_tables", "(?!)")
    for database in filter(has_database, catalog.list_databases()):
        for name in catalog.list_tables(database):
            full = f"{database}.{name}"
            if includes(full) and not excludes(full):
                yield Identifier(database, name)
