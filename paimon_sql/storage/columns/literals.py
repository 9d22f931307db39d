"""Constants as text: SQL literals, ``array(..)``, ``map(..)``, ``struct(..)``, and the brackets of schema files.

Nothing is evaluated: an expression such as ``1 + 1`` or ``current_date()`` is not a constant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
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
            return _call(call[1].lower(), self._parts(")"))
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

    def _parts(self, closing: str) -> tuple[Constant, ...]:
        parts: list[Constant] = []
        while not self._sees(closing):
            if parts:
                self._expect(",")
            parts.append(self.value(closing))
        self._expect(closing)
        return tuple(parts)

    def _bracket(self, opening: str) -> ConstantCall:
        """Parse ``[1, 2]``, ``{1, a}`` or ``{k -> v}`` after the opening bracket."""
        closing = _BRACKETS[opening]
        parts: list[Constant] = []
        arrows = 0
        while not self._sees(closing):
            if parts:
                self._expect(",")
            parts.append(self.value(closing))
            if opening == "{" and self._sees("->"):
                self.at += 2
                arrows += 1
                parts.append(self.value(closing))
        self._expect(closing)
        if arrows and arrows * 2 != len(parts):
            raise ConstantError(f"not every entry of '{self.text}' is 'key -> value'")
        return ConstantCall("array" if opening == "[" else "map" if arrows else "struct", tuple(parts))

    def _bare(self, closing: str) -> ConstantText:
        end = self.at
        while end < len(self.text) and self.text[end] not in (",", closing) and not self.text.startswith("->", end):
            end += 1
        word = self.text[self.at : end].strip()
        if number := _NUMBER.fullmatch(word):
            self.at = end
            return ConstantText("".join(number[1].split()))
        if not word or (self.sql and not _WORD.fullmatch(word)):
            raise ConstantError(f"'{word or self.text}' is no constant")
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
            raise ConstantError(f"X'{parts[0]}' is no text in UTF-8, which a default value of bytes must be") from None

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
        raise ConstantError(f"the text that begins with {self.text[self.at :][:20]} never ends")


def _call(name: str, parts: tuple[Constant, ...]) -> ConstantCall:
    if name == "named_struct":
        if len(parts) % 2:
            raise ConstantError("named_struct takes names and values in turn")
        return ConstantCall("struct", parts[1::2])
    if name == "map" and len(parts) % 2:
        raise ConstantError("map takes keys and values in turn")
    return ConstantCall(name, parts)
