"""The dialect of sessions, which sqlglot does not register, and its tokenizer: the rules of Spark's lexer."""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.generator import PaimonGenerator
from paimon_sql.sql.dialect.parser import PaimonParser

_TEXT = r"""'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z) | "[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z) """
_INNER = r"/\*(?!\+)(?:[^*/]|\*(?!/)|/(?!\*(?!\+)))*(?:\*/|\Z)"
_COMMENT = rf"/\*(?!\+)(?:[^*/]|\*(?!/)|/(?!\*(?!\+))|{_INNER})*(?:\*/|\Z)"
"""Comments nest; this pattern matches one level. A hint's opening inside a comment opens nothing.

An unclosed part matches up to the end: a pattern that failed there would be retried from each opening.
"""
_TO_ADAPT = re.compile(
    rf"""
    (?P<hint> /\*\+ (?: {_TEXT} | \*(?!/) | [^*'"] )* (?: \*/ | \Z ) )
  | (?P<remark> --(?:\\\n|[^\r\n])* )
  | (?P<comment> {_COMMENT} )
  | {_TEXT} | `[^`]*(?:`|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"\s+|--(?:\\\n|[^\r\n])*|(?P<comment>/\*(?!\+))")
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")


class PaimonTokenizer(Spark.Tokenizer):
    """Tokenizes as Spark does; a hint ``/*+ .. */`` is one token anywhere.

    Raises:
        TokenError: a string, quoted name, hint or comment is never closed.
    """

    # sqlglot keeps COMMANDs unparsed, which have a grammar here; the others may have a comment between their two words.
    KEYWORDS = {
        word: kind
        for word, kind in Spark.Tokenizer.KEYWORDS.items()
        if kind is not TokenType.COMMAND and word not in ("PRIMARY KEY", "DOUBLE PRECISION", "CHAR VARYING")
    }
    COMMANDS: ClassVar[set[TokenType]] = set()
    VAR_SINGLE_TOKENS = {"$"}
    STRING_ESCAPES = [*Spark.Tokenizer.STRING_ESCAPES, "'", '"']
    HEREDOC_STRINGS = ["$"]
    HEREDOC_TAG_IS_IDENTIFIER = True
    HEREDOC_STRING_ALTERNATIVE = TokenType.PARAMETER
    TOKENS_PRECEDING_HINT = set(TokenType)

    def tokenize(self, sql: str) -> list[Token]:
        if sql.lstrip().startswith("/*+"):  # sqlglot recognizes a hint only after another token
            tokens = self.tokenize(f";{sql}")[1:]
            for token in tokens:
                token.start, token.end = token.start - 1, token.end - 1
            return tokens
        tokens = super().tokenize(_adapted(sql))
        if "/*+" in sql or "$" in sql:
            for token in tokens:
                if token.token_type is TokenType.VAR and "$" in token.text:
                    token.token_type = TokenType.IDENTIFIER
                elif token.token_type is TokenType.HINT and "OPTIONS" in token.text.upper():
                    token.comments.clear()  # sqlglot also reports it as a comment
        tail = sql[tokens[-1].end + 1 :] if tokens else sql
        if "/*" in tail and skip_comments(tail) is None:
            raise TokenError("Unclosed comment", len(sql) - len(tail), len(sql))
        return tokens


def _adapted(sql: str) -> str:
    """The text, in the same length and with the same tokens, without what no setting of sqlglot covers: ``--`` comments
    that a backslash continues, the opening of a hint in a comment, and ``*/`` in a string inside a hint."""
    if "\\\n" not in sql and "/*+" not in sql:
        return sql
    return _TO_ADAPT.sub(_adapted_match, sql)


def _adapted_match(match: re.Match[str]) -> str:
    if match["remark"]:
        return match[0].replace("\\\n", "  ")
    if match["comment"]:
        return match[0].replace("/*+", "/ +")
    return match[0][:-2].replace("*/", "* ") + match[0][-2:] if match["hint"] else match[0]


def skip_comments(text: str) -> int | None:
    """The offset after the leading blanks and comments; None if a comment is never closed."""
    position = 0
    while match := _BLANK.match(text, position):
        position, depth = match.end(), 1
        while match["comment"] and depth:
            edge = _COMMENT_EDGE.search(text, position)
            if edge is None:
                return None
            position, depth = edge.end(), depth + (1 if edge[0] == "/*" else -1)
    return position


class PaimonDialect(Spark):
    """The spellings of Paimon, Flink and Spark."""

    Tokenizer = PaimonTokenizer
    Parser = PaimonParser
    Generator = PaimonGenerator


def walk(text: str) -> PaimonParser:
    """A parser at the first token of a text; without tokens if the text cannot be tokenized."""
    parser = PaimonParser(dialect=PaimonDialect())
    try:
        parser.begin(text, 0, len(text))
    except TokenError:
        parser.reset()
    return parser
