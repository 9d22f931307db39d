"""Constants as text: SQL literals, ``array(..)``, ``map(..)``, ``struct(..)``, and the brackets of schema files.

Nothing is evaluated: an expression such as ``1 + 1`` or ``current_date()`` is not a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

CONSTRUCTORS = ("array", "map", "struct", "named_struct")
"""The functions that construct nested constants."""


class ConstantError(ValueError):
    """The text is not a constant; the message describes where."""


@dataclass(frozen=True, slots=True)
class ConstantText:
    """An atomic value, as the string input of a cast; ``text`` is None for null."""

    text: str | None


@dataclass(frozen=True, slots=True)
class ConstantCall:
    """A nested value: an ``array``, a ``map`` as alternating keys and values, or a ``struct``."""

    kind: str
    parts: tuple[Constant, ...] = field(default=())


Constant: TypeAlias = ConstantText | ConstantCall

_NUMBER = re.compile(r"([+-]?\s*(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?:BD|[LSYDF])?", re.IGNORECASE)
_WORD = re.compile(r"true|false|null", re.IGNORECASE)
_TYPED = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X|R)?\s*(?=['\"])", re.IGNORECASE)
_CALL = re.compile(rf"(?:system\.builtin\.)?({'|'.join(CONSTRUCTORS)})\s*\(", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
_PLAIN_ELEMENT = re.compile(r"[^\s,'\"\\()\[\]{}](?:[^,'\"\\()\[\]{}>]*[^\s,'\"\\()\[\]{}>])?")


def parse_constant(text: str, *, sql: bool) -> Constant:
    """Parse a constant.

    Args:
        text: the text.
        sql: whether it is SQL, where a bare word must be a number, TRUE, FALSE or NULL; otherwise a bare word is a
            string.

    Raises:
        ConstantError: the text is not a constant.
    """
    reader = _Reader(text, sql)
    constant = reader.value("")
    if reader.rest():
        raise ConstantError(f"'{reader.rest()}' is not expected")
    return constant


def element_text(constant: Constant) -> str:
    """Return a nested constant as stored in a schema file, readable by every implementation.

    Plain parts are not quoted, because not every implementation removes quotes.
    """
    if isinstance(constant, ConstantCall):
        return f"{constant.kind}({', '.join(map(element_text, constant.parts))})"
    if constant.text is None:
        return "null"
    plain = _PLAIN_ELEMENT.fullmatch(constant.text) and constant.text.lower() != "null"
    return constant.text if plain else quoted(constant.text)


def quoted(text: str) -> str:
    """Return the text as a SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


class _Reader:
    def __init__(self, text: str, sql: bool) -> None:
        self.text = text
        self.sql = sql
        self.at = 0

    def rest(self) -> str:
        return self.text[self.at :].strip()

    def value(self, closing: str) -> Constant:
        self._skip()
        if typed := _TYPED.match(self.text, self.at):
            return ConstantText(self._strings(typed))
        if call := _CALL.match(self.text, self.at):
            self.at = call.end()
            return _call(call[1].lower(), tuple(chain.from_iterable(self._entries(")"))))
        sign = self.text[self.at : self.at + 1]
        if sign == "(" and self.sql:
            self.at += 1
            inner = self.value(")")
            self._expect(")")
            return inner
        if sign in ("[", "{") and not self.sql:
            self.at += 1
            return self._bracket(sign)
        return self._bare(closing)

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _sees(self, sign: str) -> bool:
        self._skip()
        return self.text.startswith(sign, self.at)

    def _expect(self, sign: str) -> None:
        if not self._sees(sign):
            raise ConstantError(f"'{sign}' is missing in '{self.text}'")
        self.at += len(sign)

    def _entries(self, closing: str, *, arrows: bool = False) -> Iterator[tuple[Constant, ...]]:
        """Parse values, or with `arrows` also pairs ``k -> v``, and the closing bracket."""
        is_first = True
        while not self._sees(closing):
            if not is_first:
                self._expect(",")
            is_first, value = False, self.value(closing)
            if arrows and self._sees("->"):
                self.at += 2
                yield value, self.value(closing)
            else:
                yield (value,)
        self._expect(closing)

    def _bracket(self, opening: str) -> ConstantCall:
        """Parse ``[1, 2]``, ``{1, a}`` or ``{k -> v}`` after the opening bracket."""
        entries = [*self._entries(_BRACKETS[opening], arrows=opening == "{")]
        sizes = {len(entry) for entry in entries}
        if len(sizes) > 1:
            raise ConstantError(f"not every entry of '{self.text}' is 'key -> value'")
        kind = "array" if opening == "[" else "map" if sizes == {2} else "struct"
        return ConstantCall(kind, tuple(chain.from_iterable(entries)))

    def _bare(self, closing: str) -> ConstantText:
        end = self.at
        while end < len(self.text) and self.text[end] not in (",", closing) and not self.text.startswith("->", end):
            end += 1
        word = self.text[self.at : end].strip()
        if number := _NUMBER.fullmatch(word):
            self.at = end
            return ConstantText("".join(number[1].split()))
        if not word or (self.sql and not _WORD.fullmatch(word)):
            raise ConstantError(f"'{word or self.text}' is not a constant")
        self.at = end
        return ConstantText(None if word.lower() == "null" else word)

    def _strings(self, typed: re.Match[str]) -> str:
        """Parse a literal, or adjacent literals that are concatenated."""
        prefix = (typed[1] or "").upper()
        self.at = typed.end()
        parts = [self._string(raw=prefix == "R")]
        while not prefix and (self._sees("'") or self._sees('"')):
            parts.append(self._string(raw=False))
        if prefix != "X":
            return "".join(parts)
        try:
            return bytes.fromhex(parts[0]).decode()
        except ValueError:
            raise ConstantError(
                f"X'{parts[0]}' is not a string in UTF-8, which a default value of bytes must be"
            ) from None

    def _string(self, raw: bool) -> str:
        quote = self.text[self.at]
        characters: list[str] = []
        at = self.at + 1
        while at < len(self.text):
            sign, following = self.text[at], self.text[at + 1 : at + 2]
            if sign == "\\" and following and not raw:
                characters.append(_ESCAPES.get(following, f"\\{following}" if following in "%_" else following))
                at += 2
            elif sign == quote and following == quote and not raw:
                characters.append(quote)
                at += 2
            elif sign == quote:
                self.at = at + 1
                return "".join(characters)
            else:
                characters.append(sign)
                at += 1
        raise ConstantError(f"the string that begins with {self.text[self.at :][:20]} is not closed")


def _call(name: str, parts: tuple[Constant, ...]) -> ConstantCall:
    if name == "named_struct":
        if len(parts) % 2:
            raise ConstantError("named_struct requires alternating names and values")
        return ConstantCall("struct", parts[1::2])
    if name == "map" and len(parts) % 2:
        raise ConstantError("map requires alternating keys and values")
    return ConstantCall(name, parts)
