"""Spark SQL cut into tokens: just enough to tell code from strings, quoted names and comments, and quickly.

The rules are those of Spark's own lexer (``SqlBaseLexer.g4``): backslash escapes and doubled quotes in strings, raw
strings ``r'..'``, back-quoted names, nested bracketed comments, ``--`` comments that a backslash continues, hints
``/*+ .. */`` and dollar-quoted text. One thing is added: ``$`` inside an unquoted name, as in ``t$snapshots``.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal, NamedTuple

Kind = Literal["word", "quoted", "string", "number", "hint", "op", "end"]


class Token(NamedTuple):
    """One token of a statement.

    ``word`` is the upper-cased text of an unquoted word, the text of an operator, and empty for all other kinds, so
    that comparing it never mistakes a quoted name or a string for a keyword. ``text[start:end]`` is the token.
    """

    kind: Kind
    text: str
    word: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ | --(?:\\\n|[^\r\n])* )
  | (?P<raw>     [rR](?:'[^']*'|"[^"]*") )
  | (?P<number>  (?: \d+\.\d* | \.?\d+ ) (?:[eE][+-]?\d+)? (?:[lsyfdLSYFD]|[bB][dD])? (?![\w$]) )
  | (?P<word>    \w (?: \w | \$(?!\{) )* )
  | (?P<string>  ' [^'\\]* (?: (?:\\.|'') [^'\\]* )* ' | " [^"\\]* (?: (?:\\.|"") [^"\\]* )* " )
  | (?P<quoted>  ` [^`]* (?: `` [^`]* )* ` )
  | (?P<dollar>  \$ [A-Za-z]* \$ )
  | (?P<hint>    /\*\+ )
  | (?P<comment> /\* )
  | (?P<open>    ['"`] )
  | (?P<op>      <=> | \|> | \|\| | <> | != | <= | == | => | -> | :: | << | >= | \*/ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_DOLLAR = re.compile(r"(?=(\$[A-Za-z]*\$))")
_BLANK = re.compile(r"\s+|--(?:\\\n|[^\r\n])*|(?P<comment>/\*(?!\+))")
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")


class _DollarQuotes:
    """Where texts between ``$tag$`` and ``$tag$`` end, found in one pass however many of them are never closed."""

    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end

    def end_of(self, opening: re.Match[str]) -> int:
        """The offset after the text that a sign opens; after its first ``$`` where nothing closes it."""
        if self._last[opening[0]] < opening.end():
            return opening.start() + 1
        return self._text.index(opening[0], opening.end(), self._end) + len(opening[0])

    @cached_property
    def _last(self) -> dict[str, int]:
        return {sign[1]: sign.start() for sign in _DOLLAR.finditer(self._text, 0, self._end)}


def scan(text: str, start: int = 0, end: int | None = None) -> list[Token] | None:
    """The tokens of ``text[start:end]``; None where a string, quoted name, hint or comment is never closed.

    Such a text is for Spark's parser to refuse. A hint is one token; its content can be scanned on its own.
    """
    end = len(text) if end is None else end
    tokens: list[Token] = []
    position = start
    match_at = _TOKEN.match
    dollars = _DollarQuotes(text, end)
    while position < end:
        match = match_at(text, position, end)
        if match is None:
            return None
        kind = match.lastgroup
        stop = match.end()
        if kind == "word":
            value = match[0]
            tokens.append(Token("word", value, value.upper(), position, stop))
        elif kind == "op":
            value = match[0]
            tokens.append(Token("op", value, value, position, stop))
        elif kind == "comment":
            closed = _end_of_comment(text, stop, end)
            if closed is None:
                return None
            stop = closed
        elif kind == "hint":
            closed = _end_of_hint(text, stop, end, dollars)
            if closed is None:
                return None
            stop = closed
            tokens.append(Token("hint", text[position:stop], "", position, stop))
        elif kind == "open":
            return None
        elif kind == "quoted":
            tokens.append(Token("quoted", match[0], "", position, stop))
        elif kind == "number":
            tokens.append(Token("number", match[0], "", position, stop))
        elif kind == "dollar":
            stop = dollars.end_of(match)
            value = text[position:stop]
            tokens.append(
                Token("op", value, value, position, stop)
                if value == "$"
                else Token("string", value, "", position, stop)
            )
        elif kind != "space":  # a string, raw or not
            tokens.append(Token("string", match[0], "", position, stop))
        position = stop
    return tokens


def behind_comments(text: str) -> int:
    """The offset of what comes first in a text behind blanks and comments; its length if there is nothing else."""
    position = 0
    while match := _BLANK.match(text, position):
        position = match.end()
        if match.lastgroup == "comment":
            position = _end_of_comment(text, position, len(text)) or len(text)
    return position


def _end_of_comment(text: str, position: int, end: int) -> int | None:
    """The offset after the comment whose opening ends at ``position``; comments nest."""
    depth = 1
    while edge := _COMMENT_EDGE.search(text, position, end):
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
        if depth == 0:
            return position
    return None


def _end_of_hint(text: str, position: int, end: int, dollars: _DollarQuotes) -> int | None:
    """The offset after the hint whose opening ends at ``position``; ``*/`` inside a string does not close it."""
    while position < end and (match := _TOKEN.match(text, position, end)):
        kind = match.lastgroup
        if match[0] == "*/":
            return match.end()
        if kind == "open":
            return None
        closed: int | None = match.end()
        if kind == "comment":
            closed = _end_of_comment(text, match.end(), end)
        elif kind == "dollar":
            closed = dollars.end_of(match)
        if closed is None:
            return None
        position = closed
    return None


def unquote_name(token: Token) -> str:
    """The name that a word or a back-quoted token stands for."""
    return token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote_name(name: str) -> str:
    """The name in back-quotes, as Spark reads it back whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def name_sql(name: str) -> str:
    """The name as it stands where no keyword may follow: bare where it is plain, else in back-quotes."""
    return name if _PLAIN_NAME.fullmatch(name) else quote_name(name)


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|([0-3][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def string_value(token: Token) -> str:
    """The value of a string token, its escapes resolved as Spark does it."""
    text = token.text
    if text[0] in "rR":
        return text[2:-1]
    if text[0] == "$":
        size = text.index("$", 1) + 1
        return text[size:-size]
    quote = text[0]
    return _ESCAPE.sub(_unescape, text[1:-1].replace(quote * 2, quote))


def _unescape(match: re.Match[str]) -> str:
    if code := match[1] or match[2]:
        return chr(int(code, 16))
    if match[3]:
        return chr(int(match[3], 8))
    return _ESCAPED.get(match[4], match[4])


def string_sql(value: str) -> str:
    """A string literal of this value."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
