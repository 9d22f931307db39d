"""The constructs inside queries: OPTIONS hints, unquoted system table names, incremental table functions.

What they become is plain Spark SQL:

- ``t /*+ OPTIONS('k' = 'v') */`` becomes Spark's own relation options ``t WITH ('k' = 'v')``, behind a time-travel
  clause if there is one; ``TABLE t /*+ .. */`` becomes ``SELECT * FROM t WITH (..)``.
- ``t$snapshots`` and ``db.t$branch_b`` are put in back-quotes.
- ``paimon_incremental_query('t', 1, 3)`` and its like become ``t WITH ('incremental-between' = '1,3')``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from paimon_sql.sql.ctes import scopes
from paimon_sql.sql.cursor import Cursor, Source, names_in
from paimon_sql.sql.edits import Edit, clause
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.expressions import skip_time_travel
from paimon_sql.sql.properties import Property, read_properties
from paimon_sql.sql.scan import Token, quote_name, scan, string_sql, string_value

FUNCTIONS = {
    "PAIMON_INCREMENTAL_QUERY": ("incremental-between", 2),
    "PAIMON_INCREMENTAL_BETWEEN_TIMESTAMP": ("incremental-between-timestamp", 2),
    "PAIMON_INCREMENTAL_TO_AUTO_TAG": ("incremental-to-auto-tag", 1),
}
"""Table functions that read a range of changes: the option that says the same, and its number of bounds."""

_BEFORE_A_TABLE = frozenset(["FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "USING", "UPDATE", "LATERAL", "STREAM", ",", "("])
_NOT_READ = frozenset(["CREATE", "ALTER", "DROP", "TRUNCATE", "ANALYZE", "REFRESH", "DESCRIBE", "DESC", "REPLACE"])
_HINT_REMEDY = "Write it right behind the table's name: FROM t /*+ OPTIONS('key' = 'value') */ AS x."


def read_queries(source: Source, tokens: Sequence[Token]) -> None:
    """Find the constructs in a statement and note in ``source`` what they become.

    Args:
        source: the statement, whose ``edits``, ``options`` and ``hinted`` are filled.
        tokens: its tokens with the hints.

    Raises:
        SqlSyntaxError: a hint or a function is malformed or stands where it can have no effect.
    """
    for token in source.tokens:
        if "$" in token.word and token.kind == "word":
            source.edits.append(Edit(token.start, token.end, quote_name(token.text)))
    calls = _incremental_calls(source)
    hints = [t for t in tokens if t.kind == "hint"]
    if hints and any("OPTIONS" in t.text.upper() for t in hints):
        _Hints(source, calls).read(tokens)
    for call in calls.values():
        source.edits.append(call.edit())


class _Call:
    """A call of an incremental table function, and the options that its table is read with."""

    def __init__(self, start: int, end: int, table: tuple[str, ...], option: str) -> None:
        self.start, self.end, self.table = start, end, table
        self.options = [option]

    def edit(self) -> Edit:
        name = ".".join(map(quote_name, self.table))
        return Edit(self.start, self.end, f"{name} WITH ({', '.join(self.options)})")


def _incremental_calls(source: Source) -> dict[int, _Call]:
    """The calls of incremental table functions, by the index of the token that closes each."""
    calls: dict[int, _Call] = {}
    for i, token in enumerate(source.tokens):
        if token.word not in FUNCTIONS:
            continue
        cursor = Cursor(source, i + 1)
        inside = cursor.group()
        if inside is None:
            continue
        option, bounds = FUNCTIONS[token.word]
        name, *limits = [_literal(piece) for piece in inside.split()] or [None]
        table = names_in(name) if name else None
        if table is None or len(limits) != bounds or None in limits:
            what = "a start and an end" if bounds == 2 else "a tag"
            raise cursor.error(
                f"{token.text} takes a table and {what} as literals.",
                token,
                remedy=f"Write {token.text}('db.t', {', '.join(['1', '3'][:bounds])}).",
            )
        range_ = ",".join(str(limit) for limit in limits)
        close = cursor.position - 1
        calls[close] = _Call(token.start, source.tokens[close].end, table, f"'{option}' = {string_sql(range_)}")
    return calls


def _literal(piece: Cursor) -> str | None:
    sign = "-" if piece.accept("-") else ""
    token = piece.next()
    if not piece.done or token.kind not in ("string", "number"):
        return None
    return string_value(token) if token.kind == "string" else sign + token.text


class _Hints:
    """Places the OPTIONS hints of one statement."""

    def __init__(self, source: Source, calls: dict[int, _Call]) -> None:
        self.source = source
        self.calls = calls
        self.ctes = scopes(Cursor(source))
        self.travels = _time_travels(source)
        self.travel_ends = {end: start for start, end in self.travels.items()}

    def read(self, tokens: Sequence[Token]) -> None:
        index = 0
        for is_hint, run in groupby(tokens, key=lambda t: t.kind == "hint"):
            group = list(run)
            if not is_hint:
                index += len(group)
            elif options := self._options(group):
                self._place(index, group[0], group[-1], options)

    def _options(self, hints: Sequence[Token]) -> list[Property]:
        """The options that hints in a row give; none where they are hints of Spark's."""
        options: list[Property] = []
        others = False
        for hint in hints:
            content = Source(self.source.text, scan(self.source.text, hint.start + 3, hint.end - 2) or [])
            cursor = Cursor(content)
            while not cursor.done:
                if cursor.sees("OPTIONS", "("):
                    cursor.next()
                    inside = cursor.group()
                    if inside is None:
                        raise self._error("The hint's bracket never closes.", hint)
                    options += read_properties(inside)
                else:
                    others = others or not cursor.sees(",")
                    cursor.skip()
        if options and others:
            raise self._error("An OPTIONS hint stands alone in its comment.", hints[0])
        return options

    def _place(self, index: int, first: Token, last: Token, options: list[Property]) -> None:
        """Turn the hint before token ``index`` into relation options of the table that it follows."""
        text, tokens = self.source.text, self.source.tokens
        before = index - 1
        if before in self.calls:
            self.calls[before].options += [p.sql for p in options]
            self.source.edits.append(Edit(first.start, last.end, ""))
            return
        start = self._table_before(self.travel_ends.get(before, index) - 1, first)
        relation = f"WITH ({', '.join(p.sql for p in options)})"
        travel_end = self.travels.get(index)
        if travel_end is not None:  # Spark's grammar wants the options behind the time
            at = tokens[travel_end].end
            self.source.edits += [Edit(first.start, last.end, ""), clause(text, at, at, relation)]
        else:
            self.source.edits.append(clause(text, first.start, last.end, relation))
        self.source.hinted[tokens[before].end] = last.end
        name_end = tokens[self.travel_ends.get(before, index) - 1].end
        self.source.options[name_end] = {p.key: p.value for p in options}
        self._make_readable(start)

    def _make_readable(self, start: int) -> None:
        """``TABLE t`` takes no options in Spark, ``SELECT * FROM t`` does."""
        tokens = self.source.tokens
        if tokens[start - 1].word == "TABLE" and (start < 2 or tokens[start - 2].word not in ("INTO", "OVERWRITE")):
            self.source.edits.append(Edit(tokens[start - 1].start, tokens[start - 1].end, "SELECT * FROM"))
        elif start >= 2 and tokens[start - 1].word == "(" and tokens[start - 2].word == "TABLE":
            self.source.edits.append(Edit(tokens[start].start, tokens[start].start, "SELECT * FROM "))

    def _table_before(self, end: int, hint: Token) -> int:
        """The index of the first token of the table name whose last token is ``end``."""
        tokens = self.source.tokens
        if end < 0:
            raise self._error("An OPTIONS hint follows a table.", hint)
        start = end
        if tokens[end].word == ")" and tokens[self.source.partners.get(end, 0) - 1].word == "IDENTIFIER":
            start = self.source.partners[end] - 1
        else:
            if tokens[end].kind not in ("word", "quoted") or tokens[end].word in _BEFORE_A_TABLE | {"SELECT", "WHERE", "ON"}:
                raise self._error("An OPTIONS hint follows a table.", hint)
            while start >= 2 and tokens[start - 1].word == "." and tokens[start - 2].kind in ("word", "quoted"):
                start -= 2
        opening = tokens[start - 1].word if start else ""
        if opening not in _BEFORE_A_TABLE or (opening == "TABLE" and start >= 2 and tokens[start - 2].word in _NOT_READ):
            raise self._error("An OPTIONS hint follows the name of a table that is read or written.", hint)
        if start == end:
            name = tokens[end].text.strip("`").lower()
            if any(c.name == name and c.start <= start < c.end for c in self.ctes):
                raise SqlSyntaxError(
                    f"The OPTIONS hint stands behind '{tokens[end].text}', which is a common table expression here.",
                    text=self.source.text, start=hint.start, end=hint.end,
                    remedy="Give the options to the table inside the expression.",
                )  # fmt: skip
        return start

    def _error(self, problem: str, hint: Token) -> SqlSyntaxError:
        return SqlSyntaxError(problem, text=self.source.text, start=hint.start, end=hint.end, remedy=_HINT_REMEDY)


def _time_travels(source: Source) -> dict[int, int]:
    """The first and the last token of each time-travel clause, by their indices."""
    travels: dict[int, int] = {}
    cursor = Cursor(source)
    while not cursor.done:
        start = cursor.position
        if cursor.sees("FOR|VERSION|SYSTEM_VERSION|TIMESTAMP|SYSTEM_TIME") and skip_time_travel(cursor):
            travels[start] = cursor.position - 1
        else:
            cursor.next()
    return travels
