"""Token navigation, the base of the parser, and parsing of option lists: ``('bucket' = '1')``."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.nodes import E, Options, Parts
from paimon_sql.sql.errors import PositionedError, RefusedError

_OPENING = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
CLOSING = frozenset(_OPENING.values())
STRING_TOKENS = frozenset((TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING))
_NO_WORDS = STRING_TOKENS | {TokenType.IDENTIFIER}


def whole_brackets(tokens: list[Token]) -> list[Token]:
    """The tokens with semicolons inside of brackets as unknown tokens: they are errors, and end no statement."""
    if not any(token.token_type is TokenType.SEMICOLON for token in tokens):
        return tokens
    partners, close, made = _partners(tokens), 0, []
    for i, token in enumerate(tokens):
        close = max(close, partners.get(i, 0))
        if i < close and token.token_type is TokenType.SEMICOLON:
            token = Token(TokenType.UNKNOWN, token.text, token.line, token.col, token.start, token.end, token.comments)
        made.append(token)
    return made


def _partners(tokens: list[Token]) -> dict[int, int]:
    """By the index of each bracket that opens and is closed that of the one which closes it."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.token_type in _OPENING:
            opened.append(i)
        elif opened and token.token_type is _OPENING[tokens[opened[-1]].token_type]:
            found[opened.pop()] = i
    return found


class TokenNavigator(SparkParser):
    """Spark's parser with lookahead and moves over tokens, and with options.

    An option's key is a string or a dotted name, its value a string, a number, TRUE or FALSE.

    Attributes:
        shallow: whether queries and expressions stay text.
    """

    shallow = False
    _partners_of: tuple[list[Token], dict[int, int]] = ([], {})

    # -- lookahead ---------------------------------------------------------------------------------------------------

    def sees(self, *words: str, ahead: int = 0) -> bool:
        """Whether these words or operators are next; ``A|B`` is a choice."""
        return self._count(words, ahead) > 0

    def _count(self, words: tuple[str, ...], ahead: int = 0) -> int:
        """The number of tokens that these words match at an offset; 0 if they do not match."""
        at, number = 0, ahead
        while at < len(words):
            # Some of sqlglot's keywords have two words.
            pieces = self.word(number).split() if len(words) > at + 1 else [self.word(number)]
            if not pieces or any(p not in w.split("|") for p, w in zip(pieces, words[at:], strict=False)):
                return 0
            at, number = at + len(pieces), number + 1
        return number - ahead if at == len(words) else 0

    def word(self, ahead: int = 0) -> str:
        """The token at an offset in upper case; empty for a quoted name, a string, and after the end."""
        token = self.token_at(ahead)
        return "" if token is None or token.token_type in _NO_WORDS else token.text.upper()

    def token_at(self, ahead: int) -> Token | None:
        """The token at an offset from the next one; None outside of the text."""
        index = self._index + ahead
        return self._tokens[index] if 0 <= index < self._tokens_size else None

    def is_name(self, ahead: int = 0) -> bool:
        """Whether the token at an offset can be a name."""
        token = self.token_at(ahead)
        if token is None or token.token_type in STRING_TOKENS:
            return False
        return token.token_type is TokenType.IDENTIFIER or token.text.isidentifier()

    # -- moving ------------------------------------------------------------------------------------------------------

    def _advance(self, times: int = 1) -> None:
        super()._advance(min(times, self._tokens_size - self._index))  # at most to the end

    def accept(self, *words: str) -> bool:
        """Move past these words or operators if they are next."""
        count = self._count(words)
        self._advance(count)
        return count > 0

    def step(self) -> None:
        """Move past a token, or past a bracket with its contents."""
        self._advance(self._closing(self._index) + 1 - self._index)

    def _closing(self, index: int) -> int:
        """The index of the bracket that closes the one at an index; the index itself if none opens and closes."""
        if self._partners_of[0] is not self._tokens:
            self._partners_of = self._tokens, _partners(self._tokens)
        return self._partners_of[1].get(index, index)

    # -- parsing -----------------------------------------------------------------------------------------------------

    def identifier(self, *further: TokenType) -> exp.Identifier | None:
        """Parse a single name, quoted or not, or a token of one of the further kinds."""
        if not self.is_name() and self._curr.token_type not in further:
            return None
        token = self._curr
        self._advance()
        quoted = token.token_type in _NO_WORDS
        return self.placed(exp.Identifier(this=token.text, quoted=quoted), token)

    def parts(self) -> Parts | None:
        """Parse a dotted name."""
        first, name = self._curr, self.identifier()
        if name is None:
            return None
        names = [name]
        while self.sees(".") and self.is_name(1):
            self._advance()
            if (further := self.identifier()) is not None:
                names.append(further)
        return self.placed(Parts(expressions=names), first)

    def string(self) -> exp.Literal | None:
        """Parse a string literal."""
        token = self._curr
        if token.token_type not in STRING_TOKENS:
            return None
        self._advance()
        return self.placed(exp.Literal.string(token.text), token)

    def literal(self) -> exp.Literal | None:
        """Parse a string literal or a number with its sign."""
        first, sign = self._curr, "-" if self.accept("-") else ""
        if self._curr.token_type is not TokenType.NUMBER:
            return None if sign else self.string()
        number = self._curr.text
        self._advance()
        return self.placed(exp.Literal(this=sign + number, is_string=False), first)

    def bracket(self) -> tuple[int, int] | None:
        """The indexes of the first token inside the next bracket, and of its closing one; does not move."""
        close = self._closing(self._index)
        return (self._index + 1, close) if close > self._index else None

    def enter(self) -> int | None:
        """Move into the next bracket; returns the index of its closing one, None if no bracket is next."""
        inside = self.bracket()
        if inside is None:
            return None
        self._advance()
        return inside[1]

    def leave(self, close: int, problem: str, remedy: str | None = None) -> None:
        """Move past the closing bracket that `enter` has found.

        Raises:
            RefusedError: ``problem``, if something is before it.
        """
        if self._index != close:
            raise self.refusal(problem, remedy=remedy)
        self._advance()

    def elements(self, inside: tuple[int, int]) -> list[list[Token]]:
        """The tokens of each element between the commas of a `bracket`."""
        found: list[list[Token]] = [[]] if inside[0] < inside[1] else []
        index = inside[0]
        while index < inside[1]:
            end = self._closing(index) + 1
            if self._tokens[index].token_type is TokenType.COMMA:
                found.append([])
            else:
                found[-1] += self._tokens[index:end]
            index = end
        return found

    def placed(self, node: E, first: Token) -> E:
        """Set the position of a node to the tokens from ``first`` up to here; returns the node."""
        node.meta.update(start=first.start, end=max(first.end, self._prev.end) if self._prev else first.end)
        return node

    def options(self, *, signed: bool = False) -> Options | None:
        """Parse the options in the next bracket; None if no bracket is next.

        Args:
            signed: whether each option needs ``=``, as in Flink's hints but not in Spark's properties.
        """
        first, inside = self._curr, self.bracket()
        if not self.sees("("):
            return None
        if inside is None:
            raise self.refusal("The options have no closing parenthesis")
        self._advance()
        found: list[exp.Property] = []
        while self._index < inside[1]:
            if found and not self.accept(","):
                raise self._missing_value(found[-1].name)
            found.append(self._option(inside[1], signed))
        if found and self.word(-1) == ",":
            raise self.refusal("An option is missing before or after a comma", self._curr)
        self._advance()
        return self.placed(Options(expressions=found), first)

    def _option(self, end: int, signed: bool) -> exp.Property:
        first = self._curr
        if self.sees(",") or self._index >= end:
            raise self.refusal("An option is missing before or after a comma")
        key: exp.Expr | None = self.string()
        if key is None:
            parts = self.parts()
            key = parts and exp.Literal.string(".".join(part.name for part in parts.expressions))
        if key is None:
            raise self.refusal("Expected an option key in quotes", first, "Write 'key' = 'value'.")
        has_sign = self.accept("=|==")
        value = self._value()
        if value is None or (self._index < end and not self.sees(",")):
            raise self._missing_value(key.name)
        if signed and not has_sign:
            remedy = f"Write '{key.name}' = '{value.name}'."
            self.refuse(f"The option '{key.name}' of the hint has no '='", first, remedy)
        return self.placed(exp.Property(this=key, value=value), first)

    def _missing_value(self, key: str) -> Exception:
        return self.refusal(f"The option '{key}' needs one value in quotes", remedy=f"Write '{key}' = 'value'.")

    def _value(self) -> exp.Expr | None:
        token = self._curr
        if token.token_type in STRING_TOKENS:
            return self.string()
        if self.accept("TRUE|FALSE"):
            return exp.Boolean(this=token.token_type is TokenType.TRUE)
        is_plain = token.token_type is TokenType.NUMBER and self._next.token_type is not TokenType.DCOLON
        if not is_plain or not token.text.replace(".", "", 1).isdecimal():
            return None
        self._advance()
        return exp.Literal.number(token.text)

    # -- errors ------------------------------------------------------------------------------------------------------

    def refusal(
        self, problem: str, at: Token | None = None, remedy: str | None = None, about: exp.Expr | None = None
    ) -> RefusedError:
        """An error at a token; by default at the next one, or at the end."""
        token = at or self._curr
        after = self._prev.end + 1 if self._prev else 0
        start, end = (token.start, token.end) if token else (after, after)
        error = RefusedError(problem, start, end, remedy)
        error.about = about
        return error

    def refusal_of(self, node: exp.Expr, problem: str, remedy: str | None = None) -> RefusedError:
        """An error at the position of a node."""
        return RefusedError(problem, node.meta["start"], node.meta["end"], remedy)

    def text_of_token(self) -> str:
        """The text of the next token."""
        return self.sql[self._curr.start : self._curr.end + 1] if self._curr else ""

    def refuse(self, problem: str, first: Token, remedy: str | None = None) -> NoReturn:
        """Raise an error at the tokens from ``first`` up to here."""
        last = self._prev if self._prev and self._prev.end >= first.start else first
        raise RefusedError(problem, first.start, last.end, remedy)

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        at = token or self._curr or self._prev
        raise PositionedError(message, at.start, at.end) if at else ParseError(message)
