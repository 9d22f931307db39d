"""Tokens for the shell: positions, and which of them are words."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.dialect import PaimonDialect

Kind = Literal["word", "quoted", "string", "number", "op"]
_KINDS: dict[TokenType, Kind] = {
    TokenType.IDENTIFIER: "quoted",
    TokenType.NUMBER: "number",
    TokenType.STRING: "string",
    TokenType.RAW_STRING: "string",
    TokenType.HEREDOC_STRING: "string",
    TokenType.HEX_STRING: "string",
}
_PIECE = re.compile(r"\S+")


class Token(NamedTuple):
    """One token: ``text[start:end]`` of the whole text.

    ``word`` is a word or operator in upper case, and empty for other kinds, so that a quoted name or a string never
    equals a keyword.
    """

    kind: Kind
    text: str
    word: str
    start: int
    end: int


def cut(text: str, start: int = 0) -> list[Token] | None:
    """The tokens of a text from an offset on, without hints; None if something is never closed."""
    try:
        found = PaimonDialect().tokenize(text[start:])
    except TokenError:
        return None
    tokens: list[Token] = []
    for token in found:
        begin, end = start + token.start, start + token.end + 1
        if token.token_type is TokenType.HINT or (tokens and begin < tokens[-1].end):
            continue  # sqlglot makes three tokens of 5L
        kind = _KINDS.get(token.token_type)
        if kind is not None and (kind != "quoted" or text[begin] == "`"):  # t$files is a plain word here
            tokens.append(Token(kind, text[begin:end], "", begin, end))
            continue
        for piece in _PIECE.finditer(text, begin, end):  # some keywords have two words
            kind = "word" if piece[0][0].isalnum() or piece[0][0] == "_" else "op"
            tokens.append(Token(kind, piece[0], piece[0].upper(), piece.start(), piece.end()))
    return tokens


def unquote_name(token: Token) -> str:
    """The name of a word or a back-quoted token."""
    return token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
