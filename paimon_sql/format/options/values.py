"""Options and the kinds of their values: declaration, parsing, typed access.

A kind is called to declare an option: ``BUCKET = option.integer("bucket", "How many buckets ...", "-1")``. Default
values are written as a user writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import cached_property
from typing import Generic, TypeAlias, TypedDict, TypeVar, Unpack, overload

from paimon_sql.discovery import registered
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.text.durations import parse_duration

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Check: TypeAlias = Callable[[T], str | None]
"""Returns what a value should be if it is invalid, else None."""


class Scope(str, Enum):
    """Where an option may be set."""

    TABLE = "table"
    """In table properties, and for a session or statement."""
    SPARK = "spark"
    """For a session or statement."""
    CATALOG = "catalog"
    """In the configuration of a catalog."""
    FLINK = "flink"
    """In table properties, for Flink jobs on the same table; without effect here."""


class Support(str, Enum):
    """How an option is treated."""

    SUPPORTED = "supported"
    """It has its documented effect."""
    KEPT = "kept"
    """It is validated and stored; it has effect in other engines on the same table."""
    REFUSED = "refused"
    """Tables and statements that set it are refused, because ignoring it would do harm."""


@dataclass(frozen=True)
class Status:
    """How an option is treated; ``by`` names the engines in which a kept one has effect, or why one is refused."""

    standing: Support
    by: str = ""


@dataclass(frozen=True, eq=False)
class Option(Generic[T_co]):
    """A declared option.

    Args:
        key: the key; in a pattern, ``<word>`` matches any text.
        kind: the name of the kind of value, as in the reference.
        parse: parses a value, or raises ValueError.
        default_text: the default as a string; None without a default.
        meaning: its description, one sentence.
        allowed: the allowed values, if they can be listed.
        scope: where it may be set.
        immutable: whether it is fixed once the table has data.
        alternatives: other keys that are read, in this order, if the main key is not set.
        renamed: whether the alternatives are only spellings of documents, which no other implementation reads.
        status: how it is treated.
    """

    key: str
    kind: str
    parse: Callable[[str], T_co]
    default_text: str | None
    meaning: str
    allowed: tuple[str, ...] = ()
    scope: Scope = Scope.TABLE
    immutable: bool = False
    alternatives: tuple[str, ...] = ()
    renamed: bool = False
    status: Status = Status(Support.SUPPORTED)

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """What keys match if the key is a pattern, with a group per word."""
        parts = [re.escape(part) for part in re.split(r"<[^>]+>", self.key)]
        return re.compile("(.+)".join(parts), re.DOTALL) if len(parts) > 1 else None

    @property
    def default(self) -> T_co:
        """The default value; None without a default."""
        return None if self.default_text is None else self.parse(self.default_text)  # type: ignore[return-value]

    def read(self, text: str, key: str | None = None) -> T_co:
        """Parse a value.

        Args:
            text: the value as a string.
            key: the key that was set, if it is not the main key; for error messages.

        Raises:
            InvalidOptionError: the value is invalid.
        """
        try:
            return self.parse(text)
        except ValueError as error:
            raise InvalidOptionError(
                f"The option '{key or self.key}' cannot be '{text}': {error}.", key=key or self.key
            ) from error

    def for_name(self, *names: str) -> str:
        """The key of a pattern filled with names, such as ``fields.price.aggregate-function`` for ``price``."""
        rest = iter(names)
        return re.sub(r"<[^>]+>", lambda _: next(rest), self.key)


class Facts(TypedDict, total=False):
    """Further arguments of `Option`."""

    allowed: tuple[str, ...]
    scope: Scope
    immutable: bool
    alternatives: tuple[str, ...]
    renamed: bool
    status: Status


class Kind(Generic[T]):
    """A kind of option value; calling it declares an option, to which ``facts`` apply unless it says others."""

    def __init__(self, name: str, parse: Callable[[str], T], facts: Facts) -> None:
        self.name = name
        self.parse = parse
        self.facts = facts

    @overload
    def __call__(self, key: str, meaning: str, default: str, **facts: Unpack[Facts]) -> Option[T]: ...

    @overload
    def __call__(self, key: str, meaning: str, default: None = None, **facts: Unpack[Facts]) -> Option[T | None]: ...

    def __call__(self, key: str, meaning: str, default: str | None = None, **facts: Unpack[Facts]) -> Option[T | None]:
        """Declare an option.

        Args:
            key: its key.
            meaning: its description.
            default: its default value as a string; None without a default.
            facts: other arguments of `Option`.
        """
        merged: Facts = {**self.facts, **facts}
        return Option(key, self.name, self.parse, default, meaning, **merged)

    def checked(self, check: Check[T]) -> Kind[T]:
        """The kind with an additional check of values."""

        def parse(text: str) -> T:
            value = self.parse(text)
            if defect := check(value):
                raise ValueError(defect)
            return value

        return Kind(self.name, parse, self.facts)

    def at_least(self: Kind[int], minimum: int) -> Kind[int]:
        """The kind of numbers that are at least ``minimum``."""
        return self.checked(lambda value: f"it must be {minimum} or more" if value < minimum else None)


class Kinds:
    """The kinds of values, for options that share ``facts``."""

    def __init__(self, **facts: Unpack[Facts]) -> None:
        self._facts = facts
        self.boolean = Kind("Boolean", _boolean, facts)
        self.integer = Kind("Integer", _integer(32), facts)
        self.long = Kind("Long", _integer(64), facts)
        self.double = Kind("Double", _number, facts)
        self.float_number = Kind("Float", _number, facts)
        self.memory_size = Kind("MemorySize", parse_memory_size, facts)
        self.duration = Kind("Duration", _duration, facts)
        self.string = Kind("String", str, facts)
        self.mapping = Kind("Map", _mapping, facts)

    def flag(self, key: str, meaning: str, **facts: Unpack[Facts]) -> Option[bool]:
        """Declare an option that is false unless it is set."""
        return self.boolean(key, meaning, "false", **facts)

    def one_of(self, *allowed: str, registry: str | None = None) -> Kind[str]:
        """The kind with the ``allowed`` values; case-insensitive, parsed to the spelling in ``allowed``.

        Args:
            allowed: the documented values.
            registry: the registry whose names are allowed, too (`registered`).
        """
        return Kind("Enum", _one_of(allowed, registry), {**self._facts, "allowed": allowed})

    def kept_for(self, engines: str) -> Kinds:
        """The kinds of options that have effect only in ``engines``."""
        return self._of(Status(Support.KEPT, engines))

    def refused(self, why: str) -> Kinds:
        """The kinds of options that are refused."""
        return self._of(Status(Support.REFUSED, why))

    def _of(self, status: Status) -> Kinds:
        facts: Facts = {**self._facts, "status": status}
        return Kinds(**facts)


def _one_of(allowed: tuple[str, ...], registry: str | None) -> Callable[[str], str]:
    spelled = {word.lower(): word for word in allowed}

    def parse(text: str) -> str:
        given = text.strip().lower()
        if given not in spelled and registry is not None:
            spelled.update({word.lower(): word for word in map(str, registered(registry))})
        if given not in spelled:
            raise ValueError(f"it must be one of {', '.join(spelled.values())}")
        return spelled[given]

    return parse


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise ValueError("it must be true or false")
    return word == "true"


def _integer(bits: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):
            raise ValueError("it must be an integer")
        if not -(2 ** (bits - 1)) <= (number := int(text)) < 2 ** (bits - 1):
            raise ValueError(f"it must be an integer of {bits} bits")
        return number

    return parse


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("it must be a number") from None


_MEMORY = re.compile(r"(\d+)\s*([a-zA-Z]*)")
_UNITS = ("b", "k", "m", "g", "t")
_LONG_UNITS = ("bytes", "kibibytes", "mebibytes", "gibibytes", "tebibytes")


def parse_memory_size(text: str) -> int:
    """Parse a size such as ``64 mb``, ``1g``, ``512kb`` or ``100`` (bytes) to bytes; units are powers of 1024.

    Raises:
        ValueError: the text is not such a size, or more than 2^63 - 1 bytes.
    """
    if match := _MEMORY.fullmatch(text.strip()):
        unit = match[2].lower() or "b"
        for power, (short, long) in enumerate(zip(_UNITS, _LONG_UNITS, strict=True)):
            if unit in (short, f"{short}b" if power else short, long):
                size: int = int(match[1]) * 1024**power
                if size >= 2**63:
                    raise ValueError("it must be at most 9223372036854775807 bytes")
                return size
    raise ValueError("it must be a size such as '64 mb', '1 gb' or '512 kb'")


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError:
        raise ValueError("it must be a duration such as '10 s', '5 min', '1 h', '7 d'") from None


_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|[^'"]""")


def _mapping(text: str) -> Mapping[str, str]:
    """Parse comma-separated pairs ``key:value``; in quotes ``'`` or ``"``, both may contain the separators."""
    pairs = [[_unquoted(part) for part in _split(pair, ":")] for pair in _split(text, ",") if pair.strip()]
    if not all(len(pair) == 2 for pair in pairs):
        raise ValueError("it must be pairs such as '0:lz4,1:zstd'")
    return dict(pairs)


def _split(text: str, separator: str) -> list[str]:
    """Split a text at the separators outside of quotes."""
    starts = [0]
    for token in _QUOTED.finditer(text):
        if token[0] == separator:
            starts.append(token.end())
        elif token[0] in ("'", '"'):
            raise ValueError("it has an unclosed quote")
    return [text[start : end - 1] for start, end in zip(starts, [*starts[1:], len(text) + 1], strict=True)]


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


option = Kinds()
"""The kinds of options of tables that have their described effect."""
fixed = Kinds(immutable=True)
java = option.kept_for("Java engines")
unread = option.kept_for("compatibility: no current engine reads it")

UNLIMITED_INTEGER = "2147483647"
UNLIMITED_LONG = "9223372036854775807"
UNLIMITED_SIZE = f"{UNLIMITED_LONG} bytes"


def comma_separated(text: str | None) -> tuple[str, ...]:
    """Split a comma-separated list of names, without surrounding blanks."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


class TableOptions:
    """Options as strings, parsed by `Option`.

    Args:
        texts: the values of the options by key; other keys may be among them.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def get(self, option: Option[T], *names: str) -> T:
        """The value of an option, or its default.

        Args:
            option: the option.
            names: for a pattern, the names in its key.

        Raises:
            InvalidOptionError: the value is invalid.
        """
        key = self.key_of(option, *names)
        return option.default if key is None else option.read(self.texts[key], key)

    def has(self, option: Option[T], *names: str) -> bool:
        """Whether the option is set; the arguments are those of `get`."""
        return self.key_of(option, *names) is not None

    def key_of(self, option: Option[T], *names: str) -> str | None:
        """The key with which the option is set; None if it is not. The arguments are those of `get`."""
        own = option.for_name(*names) if names else option.key
        return next((key for key in (own, *option.alternatives) if key in self.texts), None)

    def matching(self, pattern: Option[T]) -> Iterator[tuple[tuple[str, ...], T]]:
        """Yield the options that match a pattern: the names in the key, and the value.

        Raises:
            InvalidOptionError: a value is invalid.
        """
        if pattern.pattern is None:
            raise ValueError(f"{pattern.key} is not a pattern")
        for key, text in self.texts.items():
            if match := pattern.pattern.fullmatch(key):
                yield match.groups(), pattern.read(text, key)
