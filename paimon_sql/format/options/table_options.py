"""Typed access to options of tables, sessions and catalogs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from paimon_sql.format.options.values import Option

T = TypeVar("T")


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
            raise ValueError(f"{pattern.key} is no pattern")
        for key, text in self.texts.items():
            if match := pattern.pattern.fullmatch(key):
                yield match.groups(), pattern.read(text, key)
