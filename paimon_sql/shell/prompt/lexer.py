"""Colours for SQL at the prompt."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.lexers import Lexer

from paimon_sql.shell.prompt.keywords import KEYWORDS
from paimon_sql.shell.text.splitter import tokens_of

_STYLES = {"string": "class:string", "number": "class:number", "quoted": "class:quoted", "hint": "class:comment"}


class SqlLexer(Lexer):
    """Tells keywords, strings, numbers, quoted names and comments apart, in text that may be unfinished."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = list(split_lines(fragments(document.text)))
        return lambda number: lines[number] if number < len(lines) else []


def fragments(text: str) -> StyleAndTextTuples:
    """The text in styled parts."""
    parts: StyleAndTextTuples = []
    position = 0
    tokens, _ = tokens_of(text)
    for token in tokens:
        parts.append(_between(text[position : token.start]))
        style = "class:keyword" if token.word in KEYWORDS else _STYLES.get(token.kind, "")
        parts.append((style, text[token.start : token.end]))
        position = token.end
    parts.append(_between(text[position:]))
    return [part for part in parts if part[1]]


def _between(text: str) -> tuple[str, str]:
    return ("" if text.isspace() else "class:comment", text)
