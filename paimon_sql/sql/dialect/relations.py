"""Parsing of Paimon tables that are read or written, and of text that holds them.

``t /*+ OPTIONS('k' = 'v') */ VERSION AS OF 3`` is a table whose ``version`` is a `Travel`. A hint without effect is
refused: after a common table expression, an alias, or anything else that is not a table.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.navigator import CLOSING, TokenNavigator
from paimon_sql.sql.dialect.nodes import Incremental, Options, Span, Travel, Verbatim
from paimon_sql.sql.errors import RefusedError
from paimon_sql.sql.text.names import parts_in

INCREMENTAL = {
    "PAIMON_INCREMENTAL_QUERY": ("incremental-between", 2),
    "PAIMON_INCREMENTAL_BETWEEN_TIMESTAMP": ("incremental-between-timestamp", 2),
    "PAIMON_INCREMENTAL_TO_AUTO_TAG": ("incremental-to-auto-tag", 1),
}
"""Table functions that read a change range: the equivalent option, and its number of bounds (Paimon:
`PaimonTableValuedFunctions`)."""
_BEFORE_A_TABLE = frozenset(
    ["FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "USING", "UPDATE", "LATERAL", "STREAM", ",", "("]
)
_DEFINES_A_TABLE = frozenset(
    ["CREATE", "ALTER", "DROP", "TRUNCATE", "ANALYZE", "REFRESH", "DESCRIBE", "DESC", "REPLACE"]
)
_NO_TABLE = _BEFORE_A_TABLE | {"SELECT", "WHERE", "ON", "AS", "BY", "AND", "OR", "SET", "WITH", "VALUES"}
_TRAVELS = ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
_ENDS = frozenset((TokenType.COMMA, TokenType.WHERE, TokenType.WHEN, TokenType.THEN))
"""Tokens that end an expression that stays text, outside of CASE and brackets."""
_REMEDY = "Write it directly after the table's name: FROM t /*+ OPTIONS('key' = 'value') */ AS x."


class _Scope(NamedTuple):
    """The token range in which ``name``, in lower case, is a common table expression."""

    name: str
    start: int
    end: int


class RelationParser(TokenNavigator):
    """Parses Paimon's tables, and parts of statements as text."""

    VERSION_PHRASES = {
        **TokenNavigator.VERSION_PHRASES,
        ("FOR", "SYSTEM_VERSION"): "VERSION",
        ("SYSTEM_VERSION", "AS", "OF"): "VERSION",
        ("SYSTEM_TIME", "AS", "OF"): "TIMESTAMP",
    }
    SUPPORTS_TABLE_QUERY = True

    _marks_of: tuple[list[Token], list[int]] = ([], [])

    # -- grammar -----------------------------------------------------------------------------------------------------

    def _parse_table_parts(
        self, schema: bool = False, is_db_reference: bool = False, wildcard: bool = False, fast: bool = False
    ) -> exp.Table | exp.Dot | None:
        index, first = self._index, self._curr
        table = super()._parse_table_parts(schema, is_db_reference, wildcard, fast)
        if fast and table is not None and (self._curr.token_type is TokenType.HINT or self.sees("WITH", "(")):
            self._retreat(index)
            return None
        return self.placed(table, first) if isinstance(table, exp.Table) else table

    def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
        if self.word() in INCREMENTAL and self.sees("(", ahead=1):
            return self._parse_incremental_call()
        return super()._parse_table_part(schema)

    def _parse_version(self) -> exp.Version | None:
        first = self._curr
        options = self._parse_relation_options()
        was_shallow, self.shallow = self.shallow, False  # only parsing finds the end of a time
        try:
            version = super()._parse_version()
        finally:
            self.shallow = was_shallow
        if version is not None:
            self.placed(version, first)
            options += self._parse_relation_options()
        if not options:
            return version
        given = {} if version is None else {k: v for k, v in version.args.items() if v is not None}
        travel = self.placed(Travel(**given, options=options), first)
        travel.meta["travels_to"] = None if version is None else version.meta["end"]
        return travel

    def _parse_relation_options(self) -> list[Options]:
        """Parse the OPTIONS hints, or Spark's ``WITH (..)``, after a table."""
        found: list[Options] = []
        while True:
            first = self._curr
            if first.token_type is TokenType.HINT and (hint := self.options_of_hint(first)) is not None:
                self._advance()
                found += hint
            elif self.sees("WITH", "(") and self.sees("=", ahead=3):
                self._advance()
                given = self.options()
                assert given is not None
                found.append(self.placed(given, first))
            else:
                return found

    def options_of_hint(self, hint: Token) -> list[Options] | None:
        """The option lists of a hint, at the hint's position; None for a hint of Spark's."""
        if "OPTIONS" not in hint.text.upper():
            return None
        inside = type(self)(dialect=self.dialect)
        inside.begin(self.sql, hint.start + len("/*+"), hint.end + 1 - len("*/"))
        found: list[Options] = []
        has_others = False
        while inside._curr:
            if inside.accept("OPTIONS") and inside.sees("("):
                given = inside.options(signed=True)
                assert given is not None
                found.append(given)
                given.meta.update(start=hint.start, end=hint.end)
            else:
                has_others = has_others or not inside.sees(",")
                inside.step()
        if found and has_others:
            raise self.refusal("An OPTIONS hint must be the only hint in its comment", hint, _REMEDY)
        return found or None

    def begin(self, sql: str, start: int, end: int) -> None:
        """Move to the first token of a part of a text."""
        self.reset()
        self.sql = sql
        self._tokens = self.dialect.tokenize(sql[start:end])
        for token in self._tokens:
            token.start, token.end = token.start + start, token.end + start
        self._tokens_size = len(self._tokens)
        self._index = -1
        self._advance()

    def _parse_incremental_call(self) -> Incremental:
        """Parse ``paimon_incremental_query('db.t', 1, 3)`` and the other functions of `INCREMENTAL`."""
        name, inside = self._curr, None
        self._advance()
        inside, bounds = self.bracket(), INCREMENTAL[name.text.upper()][1]
        self._advance()
        arguments: list[exp.Literal | None] = [self.literal()] if inside is not None else [None]
        while inside is not None and self._index < inside[1] and self.accept(","):
            arguments.append(self.literal())
        table, *limits = arguments
        names = parts_in(table.name) if table is not None and table.is_string else None
        is_valid = names is not None and len(limits) == bounds and None not in limits
        if inside is None or self._index != inside[1] or not is_valid:
            what = "a start and an end" if bounds == 2 else "a tag"
            remedy = f"Write {name.text}('db.t', {', '.join(['1', '3'][:bounds])})."
            raise self.refusal(f"{name.text} takes a table and {what} as literals", name, remedy)
        self._advance()
        return self.placed(Incremental(this=name.text, expressions=arguments), name)

    # -- tables inside of text ---------------------------------------------------------------------------------------

    def relations_within(self, begin: int, end: int) -> list[exp.Expr]:
        """The Paimon tables, and names with ``$``, among the tokens from one index up to another."""
        marks = self._marks
        marks = marks[bisect_left(marks, begin) : bisect_left(marks, end)]
        found: list[exp.Expr] = []
        back, at = self._index, begin
        for mark in marks:
            if mark < at:
                continue
            relation = self._relation_at(mark)
            if relation is not None:
                found.append(relation)
            at = max(self._index, mark + 1)
        self._retreat(back)
        return found

    @property
    def _marks(self) -> list[int]:
        """The indexes of the tokens at which, or before which, a construct of the dialect may be."""
        if self._marks_of[0] is not self._tokens:
            tokens = self._tokens
            has_hints = any(t.token_type is TokenType.HINT and "OPTIONS" in t.text.upper() for t in tokens)
            marks = [
                i
                for i, t in enumerate(tokens)
                if (t.token_type is TokenType.IDENTIFIER and "$" in t.text)
                or (t.token_type is TokenType.VAR and t.text.upper() in INCREMENTAL)
                or (has_hints and (t.token_type is TokenType.HINT or t.text.upper() == "OF"))
            ]
            self._marks_of = tokens, marks
        return self._marks_of[1]

    def _relation_at(self, mark: int) -> exp.Expr | None:
        """Parse the construct of the dialect at a mark; None if there is none."""
        token = self._tokens[mark]
        self._retreat(mark)
        if token.token_type is TokenType.HINT:
            if self.options_of_hint(token) is None:
                return None
            self._retreat(self._start_of_relation(mark - 1, token))
        elif token.text.upper() == "OF":
            start = self._start_of_travel(mark)
            if start is None:
                return None
            self._retreat(start)
        elif "$" in token.text:
            start = self._start_of_name(mark)
            before = self._word_at(start - 1)
            if before not in _BEFORE_A_TABLE:
                is_name = self.word(1) == "." or (before.isidentifier() and before not in _NO_TABLE)
                return self.identifier() if is_name else None
            self._retreat(start)
        elif not self.sees("(", ahead=1):
            return None
        return self._parse_relation()

    def _parse_relation(self) -> exp.Table | None:
        start = self._index
        opening, earlier = self._word_at(start - 1), self._word_at(start - 2)
        table = self._parse_table_parts()
        if not isinstance(table, exp.Table):
            return None
        table.set("version", self._parse_version())
        before = self._tokens[start - 1] if start else None
        if before is not None and opening == "TABLE" and earlier not in ("INTO", "OVERWRITE"):
            table.meta["keyword"] = Span(before.start, before.end + 1)
        elif before is not None and opening == "(" and earlier == "TABLE":
            table.meta["in_table_call"] = before.end + 1
        return table

    def _word_at(self, index: int) -> str:
        return self.word(index - self._index) if index >= 0 else ""

    def _start_of_name(self, end: int) -> int:
        """The index of the first token of the dotted name that ends at an index."""
        start = end
        while self._word_at(start - 1) == "." and start >= 2 and self.is_name(start - 2 - self._index):
            start -= 2
        return start

    def _start_of_travel(self, of: int) -> int | None:
        """The first index of the table whose time travel has its OF at an index; None if it is not time travel."""
        if self._word_at(of - 1) != "AS" or self._word_at(of - 2) not in _TRAVELS:
            return None
        end = of - 3 - (self._word_at(of - 3) == "FOR")
        while end >= 0 and self._tokens[end].token_type is TokenType.HINT:
            end -= 1
        if end < 1 or not self.is_name(end - self._index) or self._word_at(end) in _NO_TABLE:
            return None
        start = self._start_of_name(end)
        return start if self._word_at(start - 1) in _BEFORE_A_TABLE else None

    def _start_of_relation(self, end: int, hint: Token) -> int:
        """The first index of the table that ends right before a hint."""
        opening = next((i for i in range(end) if self._closing(i) == end), end) - 1
        is_call = self._word_at(end) == ")" and self._word_at(opening) in ("IDENTIFIER", *INCREMENTAL)
        if not is_call and (self._word_at(end) in _NO_TABLE or not self.is_name(end - self._index)):
            raise self._misplaced("An OPTIONS hint must follow a table", hint)
        start = opening if is_call else self._start_of_name(end)
        before, earlier = self._word_at(start - 1), self._word_at(start - 2)
        if before not in _BEFORE_A_TABLE or (before == "TABLE" and earlier in _DEFINES_A_TABLE):
            raise self._misplaced("An OPTIONS hint must follow the name of a table that is read or written", hint)
        name = self._tokens[start].text
        if start == end and self.is_common_table(name, start):
            problem = f"The OPTIONS hint follows '{name}', which is a common table expression here"
            raise self.refusal(problem, hint, "Give the options to the tables inside the expression.")
        return start

    def is_common_table(self, name: str, index: int) -> bool:
        """Whether a name means a common table expression at an index."""
        return any(s.name == name.lower() and s.start <= index < s.end for s in self._scopes())

    def lists_columns(self) -> bool:
        """Whether a bracket is next that lists columns of a common table expression: ``AS (`` or ``(`` follows it."""
        return self.sees("(") and self.sees("AS|(", ahead=self._closing(self._index) + 1 - self._index)

    def _misplaced(self, problem: str, hint: Token) -> RefusedError:
        return self.refusal(problem, hint, _REMEDY)

    def _scopes(self) -> list[_Scope]:
        """The scopes of all common table expressions of the statement, at any depth.

        A scope covers the following expressions of the list and the query after it, up to the enclosing closing
        bracket; a recursive expression is also in scope inside itself.
        """
        back, found = self._index, list[_Scope]()
        for start in (i for i, token in enumerate(self._tokens) if token.token_type is TokenType.WITH):
            around = [self._closing(i) for i in range(start) if self._closing(i) > start]
            end = min(around, default=self._tokens_size)
            self._retreat(start + 1)
            is_recursive = not self.sees("AS|(", ahead=1) and self.accept("RECURSIVE")
            while (name := self.identifier()) is not None:
                if self.accept("MAX", "RECURSION", "LEVEL"):
                    self._advance()
                if self.lists_columns():
                    self.step()
                self.accept("AS")
                begin = self._index
                if not self.sees("("):
                    break
                self.step()
                found.append(_Scope(name.name.lower(), begin if is_recursive else self._index, end))
                if not self.accept(","):
                    break
        self._retreat(back)
        return found

    # -- parts of statements as text -----------------------------------------------------------------------------------

    def expression_text(self) -> Verbatim | None:
        """Parse the next expression as text: up to a comma, a closing bracket, WHERE, WHEN or THEN."""
        index, cases = self._index, 0
        while index < self._tokens_size:
            kind = self._tokens[index].token_type
            is_part = index > 0 and self._tokens[index - 1].token_type is TokenType.DOT
            if kind in CLOSING or (cases == 0 and kind in _ENDS and not is_part):
                break
            cases += (kind is TokenType.CASE) - (kind is TokenType.END and cases > 0) if not is_part else 0
            index = self._closing(index) + 1
        return self.text_up_to(index)

    def rest(self) -> Verbatim | None:
        """Parse the rest of the statement as text."""
        return self.text_up_to(self._tokens_size)

    def text_up_to(self, index: int) -> Verbatim | None:
        """Parse the tokens up to an index as text; None if there are none."""
        if index <= self._index:
            return None
        first, last, begin = self._curr, self._tokens[index - 1], self._index
        self._advance(index - self._index)
        node = Verbatim(this=self.sql[first.start : last.end + 1], expressions=self.relations_within(begin, index))
        return self.placed(node, first)

    def as_written(self) -> Verbatim:
        """The rest of the statement, which is not SQL."""
        first, last = self._curr, self._tokens[-1]
        self._advance(self._tokens_size - self._index)
        return self.placed(Verbatim(this=self.sql[first.start : last.end + 1]), first)

    def bracket_text(self) -> Verbatim | None:
        """Parse a bracket with its contents as text; None if no bracket is next.

        ``meta["pieces"]`` is the number of elements between commas, ``meta["words"]`` are the tokens in upper case.
        """
        inside = self.bracket()
        if inside is None:
            return None
        words = [token.text.upper() for token in self._tokens[inside[0] : inside[1]]]
        node = self.text_up_to(inside[1] + 1)
        assert node is not None
        node.meta.update(pieces=len(self.elements(inside)), words=words)
        return node
