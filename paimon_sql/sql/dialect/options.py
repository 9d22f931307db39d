"""Parsing of option lists in hints and WITH clauses: ``('bucket' = '1', 'file.format' = 'orc')``."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.navigator import STRING_TOKENS, TokenNavigator
from paimon_sql.sql.dialect.nodes import Options


class OptionsParser(TokenNavigator):
    """Parses options; a key is a string or a dotted name, a value is a string, a number, TRUE or FALSE."""

    def options(self, *, signed: bool = False) -> Options | None:
        """Parse the options in the next bracket; None if no bracket is next.

        Args:
            signed: whether each option needs ``=``, as in Flink's hints but not in Spark's properties.
        """
        first, inside = self._curr, self.bracket()
        if not self.sees("("):
            return None
        if inside is None:
            raise self.refusal("The bracket of the options never closes")
        self._advance()
        found: list[exp.Property] = []
        while self._index < inside[1]:
            if found and not self.accept(","):
                raise self._missing_value(found[-1].name)
            found.append(self._option(inside[1], signed))
        if found and self._word(-1) == ",":
            raise self.refusal("An option is missing here, before or behind a comma", self._curr)
        self._advance()
        return self.placed(Options(expressions=found), first)

    def _option(self, end: int, signed: bool) -> exp.Property:
        first = self._curr
        if self.sees(",") or self._index >= end:
            raise self.refusal("An option is missing here, before or behind a comma")
        key: exp.Expr | None = self.string()
        if key is None:
            parts = self.parts()
            key = parts and exp.Literal.string(".".join(part.name for part in parts.expressions))
        if key is None:
            raise self.refusal("An option begins with its key in quotes", first, "Write 'key' = 'value'.")
        has_sign = self.accept("=|==")
        value = self._value()
        if value is None or (self._index < end and not self.sees(",")):
            raise self._missing_value(key.name)
        if signed and not has_sign:
            remedy = f"Write '{key.name}' = '{value.name}'."
            self.refuse(f"The option '{key.name}' of the hint lacks its sign", first, remedy)
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
