"""sqlglot's tokenizer, told the rules of Spark's lexer (``SqlBaseLexer.g4``), and Paimon's ``$`` inside names."""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

_TEXT = r"""'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z) | "[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z) """
_INNER = r"/\*(?!\+)(?:[^*/]|\*(?!/)|/(?!\*(?!\+)))*(?:\*/|\Z)"
_COMMENT = rf"/\*(?!\+)(?:[^*/]|\*(?!/)|/(?!\*(?!\+))|{_INNER})*(?:\*/|\Z)"
"""Comments nest, these once; an opening of a hint opens nothing in them.

What is never closed reaches to the end: a pattern that failed there would be tried again from each opening.
"""
_TOLD_OTHERWISE = re.compile(
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
    """Cuts text as Spark does; a hint ``/*+ .. */`` is one token wherever it stands.

    Raises:
        TokenError: a string, quoted name, hint or comment is never closed.
    """

    # What sqlglot takes whole as a command has a grammar here; between the words of the others a comment may stand.
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
        if sql.lstrip().startswith("/*+"):  # sqlglot sees hints behind other tokens alone
            tokens = self.tokenize(f";{sql}")[1:]
            for token in tokens:
                token.start, token.end = token.start - 1, token.end - 1
            return tokens
        tokens = super().tokenize(_as_sqlglot_reads(sql))
        if "/*+" in sql or "$" in sql:
            for token in tokens:
                if token.token_type is TokenType.VAR and "$" in token.text:
                    token.token_type = TokenType.IDENTIFIER
                elif token.token_type is TokenType.HINT and "OPTIONS" in token.text.upper():
                    token.comments.clear()  # sqlglot takes it for a comment, too
        behind = sql[tokens[-1].end + 1 :] if tokens else sql
        if "/*" in behind and behind_comments(behind) is None:
            raise TokenError("A comment is never closed", len(sql) - len(behind), len(sql))
        return tokens


def _as_sqlglot_reads(sql: str) -> str:
    """A text of the same length and tokens without what no setting says: ``--`` comments that a backslash continues,
    the opening of a hint inside a comment, and the sign that closes comments in a text inside a hint."""
    if "\\\n" not in sql and "/*+" not in sql:
        return sql
    return _TOLD_OTHERWISE.sub(_as_sqlglot_reads_it, sql)


def _as_sqlglot_reads_it(match: re.Match[str]) -> str:
    if match["remark"]:
        return match[0].replace("\\\n", "  ")
    if match["comment"]:
        return match[0].replace("/*+", "/ +")
    return match[0][:-2].replace("*/", "* ") + match[0][-2:] if match["hint"] else match[0]


def behind_comments(text: str) -> int | None:
    """The offset of what comes first in a text behind blanks and comments; None where a comment is never closed."""
    position = 0
    while match := _BLANK.match(text, position):
        position, depth = match.end(), 1
        while match["comment"] and depth:
            edge = _COMMENT_EDGE.search(text, position)
            if edge is None:
                return None
            position, depth = edge.end(), depth + (1 if edge[0] == "/*" else -1)
    return position
