"""Pieces of a text, a file or standard input: statements that end with ``;``, and commands of the shell.

A ``;`` inside a string, a quoted name, a comment, a script ``BEGIN .. END`` or a statement set of Flink ends no
statement. A command of the shell (``help``, ``quit``, ``source FILE``, ``.format csv``, ``!ls``) is possible wherever a
statement can begin, and takes one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.dialect.session_dialect import PaimonDialect

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


class Piece(NamedTuple):
    """One statement, without its ``;``, or one command.

    ``line`` is its first line, counted from 1, and ``end`` the offset after its ``;``. ``complete`` is whether its end
    was found; only the last piece of a text can lack one.
    """

    kind: Literal["statement", "command"]
    text: str
    line: int
    end: int
    complete: bool


_COMMAND = re.compile(
    r"""
    (?P<text> ![^\n]*
            | (?i:help|quit|exit|clear) (?= [ \t]* (?:[;\n]|\Z) )
            | (?i:source) [ \t]+ [^\s;=] [^;\n]*
            | \.[A-Za-z] [^;\n]*
    ) [ \t]* ;?
    """,
    re.VERBOSE,
)
_QUOTE = re.compile(r"['\"`]")
_DOLLAR_QUOTE = re.compile(r"\$[A-Za-z]*\$")


def split(text: str) -> list[Piece]:
    """The pieces of a text, without comments and empty statements between them."""
    return list(_pieces(text))


def split_lines(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a stream of lines, each as soon as it is complete."""
    pending, first = "", 1
    for line in lines:
        pending += line
        if ";" not in line and not _COMMAND.match(line.lstrip()):
            continue
        complete = [piece for piece in split(pending) if piece.complete]
        for piece in complete:
            yield piece._replace(line=piece.line + first - 1)
        if complete:
            first += pending.count("\n", 0, complete[-1].end)
            pending = pending[complete[-1].end :]
    for piece in split(pending):
        yield piece._replace(line=piece.line + first - 1)


def is_complete(text: str) -> bool:
    """Whether all pieces are complete, so that the prompt runs the text instead of asking for another line."""
    return all(piece.complete for piece in split(text))


def tokens_of(text: str, start: int = 0) -> tuple[list[Token], bool]:
    """The tokens from ``start`` on, and whether a string, quoted name or comment is unclosed.

    An unclosed string or name is the last token, up to the end of the text.
    """
    tokens = cut(text, start)
    if tokens is None:
        return _tokens_of_open(text, start), True
    for i, token in enumerate(tokens):
        if token.word == "$" and _DOLLAR_QUOTE.match(text, token.start):
            return [*tokens[:i], Token("string", text[token.start :], "", token.start, len(text))], True
    return tokens, False


def _tokens_of_open(text: str, start: int) -> list[Token]:
    # The first unclosed part reaches to the end, so one closing sign makes the text tokenizable.
    dollars = _DOLLAR_QUOTE.findall(text, start)[-1:]
    for closing in ("'", '"', "`", *dollars, "*/" * text.count("/*", start), "'*/", '"*/', "`*/"):
        # The line break ends a comment and neutralizes a last backslash before the sign.
        tokens = cut(f"{text}\n{closing}", start)
        if tokens is not None:
            tokens = [token for token in tokens if token.start < len(text)]
            if tokens and tokens[-1].end > len(text):
                last = tokens[-1]
                tokens[-1] = last._replace(text=text[last.start :], end=len(text))
            return tokens
    # No closing sign helps: take the first unclosed quote as open up to the end.
    for quote in _QUOTE.finditer(text, start):
        tokens = cut(text[: quote.end()] + quote[0], start)
        if tokens is not None and tokens[-1].start == quote.start():
            return [*tokens[:-1], tokens[-1]._replace(text=text[quote.start() :], end=len(text))]
    return []


def _pieces(text: str) -> Iterator[Piece]:
    tokens, is_open = tokens_of(text)
    i, line, counted, begin = 0, 1, 0, 0
    while i < len(tokens):
        start = tokens[i].start
        if tokens[i].word == ";":
            begin = tokens[i].end
            i += 1
            continue
        line, counted = line + text.count("\n", counted, start), start
        if command := _COMMAND.match(text, start):
            begin = command.end()
            yield Piece("command", command["text"].rstrip(), line, begin, complete=True)
            # A command is not SQL: tokenize again after it.
            tokens, is_open = tokens_of(text, begin)
            i = 0
            continue
        stop = _end_of_statement(tokens, i)
        if stop is None:
            rest = text[start:] if is_open else text[start : tokens[-1].end]
            yield Piece("statement", rest, line, len(text), complete=False)
            return
        begin = tokens[stop].end
        yield Piece("statement", text[start : tokens[stop].start].rstrip(), line, begin, complete=True)
        i = stop + 1
    if is_open:
        rest = text[begin:].lstrip()
        yield Piece("statement", rest, 1 + text.count("\n", 0, len(text) - len(rest)), len(text), complete=False)


_STATEMENT_SETS = [[word, "STATEMENT", "SET", "BEGIN"] for word in ("EXECUTE", "EXPLAIN")]
_BLOCKS = frozenset({"IF", "WHILE", "FOR", "LOOP", "REPEAT"})
_BEFORE_STATEMENT = frozenset({";", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "BEGIN", ":"})


def _end_of_statement(tokens: Sequence[Token], first: int) -> int | None:
    """The index of the ``;`` that ends the statement at ``tokens[first]``."""
    if _opens_script(tokens, first):
        return _end_of_script(tokens, first)
    return next((i for i in range(first, len(tokens)) if tokens[i].word == ";"), None)


def _opens_script(tokens: Sequence[Token], first: int) -> bool:
    words = [token.word for token in tokens[first : first + 5]]
    if words[:2] == ["EXPLAIN", "REWRITE"]:
        return _opens_script(tokens, first + 2)
    if words[:4] in _STATEMENT_SETS:
        return True
    if words[1:2] == [":"]:
        words = words[2:]
    if words[:1] == ["BEGIN"]:
        return words[1:2] not in ([";"], ["TRANSACTION"], ["WORK"])
    return words[:1] == ["CREATE"] and not {"PROCEDURE", "FUNCTION"}.isdisjoint(words)


def _end_of_script(tokens: Sequence[Token], first: int) -> int | None:
    """The index of the ``;`` that ends a script; those inside of ``BEGIN .. END`` do not.

    Only BEGIN and CASE are counted, since only they are closed by a mere ``END``.
    """
    open_blocks: list[str] = []
    at_start, declares, handles, previous = True, False, False, ""
    for i in range(first, len(tokens)):
        word = tokens[i].word
        if word == ";" and not open_blocks:
            return i
        if at_start:
            declares, handles = word == "DECLARE", False
        handles = handles or (declares and word == "HANDLER")
        opens = word == "BEGIN" and (at_start or handles or not open_blocks)
        if opens or (word == "CASE" and previous not in (".", "END")):
            open_blocks.append(word)
        elif word == "END" and previous != "." and open_blocks:
            following = tokens[i + 1].word if i + 1 < len(tokens) else ""
            if open_blocks[-1] == "CASE" or (at_start and following not in _BLOCKS):
                open_blocks.pop()
        at_start = word in _BEFORE_STATEMENT
        previous = word
    return None


@dataclass(frozen=True)
class Source:
    """Pieces to run, and the name of their file; None for the command line."""

    pieces: Iterable[Piece]
    origin: str | None = None


def from_file(name: str) -> Source:
    """The pieces of a file, read eagerly, so that a missing file is an error before anything runs.

    Raises:
        InvalidInputError: the file cannot be read, or is not UTF-8.
    """
    return Source(split(text_of(name)), origin=name)


def text_of(name: str) -> str:
    """The text of a file.

    Raises:
        InvalidInputError: the file cannot be read, or is not UTF-8.
    """
    try:
        return Path(name).expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInputError(f"The file {name} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"The file {name} is not UTF-8: the byte at {error.start} is invalid.", remedy="Convert it with iconv."
        ) from error


def from_stream(stream: Iterable[str]) -> Source:
    """The pieces of a stream of lines, such as a pipe; each runs as soon as it is complete."""
    return Source(split_lines(stream), origin="standard input")
