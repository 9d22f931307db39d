"""Hints ``/*+ OPTIONS(..) */`` behind tables, made Spark's relation options ``WITH (..)``.

``t /*+ OPTIONS('k' = 'v') */ x`` becomes ``t WITH ('k' = 'v') x``; Spark's grammar wants the options behind a
time-travel clause, so they go there wherever the hint stands. ``TABLE t`` takes none in Spark and becomes
``SELECT * FROM t WITH (..)``. A hint that could have no effect is refused: behind a common table expression, an alias,
or nothing that is a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from paimon_sql.sql.ctes import scopes
from paimon_sql.sql.cursor import Cursor, Source
from paimon_sql.sql.edits import Edit, clause
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.expressions import skip_time_travel
from paimon_sql.sql.properties import Property, read_properties
from paimon_sql.sql.scan import Token, quote_name, scan, unquote_name

_BEFORE_A_TABLE = {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "USING", "UPDATE", "LATERAL", "STREAM", ",", "("}
_DEFINES_A_TABLE = {"CREATE", "ALTER", "DROP", "TRUNCATE", "ANALYZE", "REFRESH", "DESCRIBE", "DESC", "REPLACE"}
_NO_TABLE = _BEFORE_A_TABLE | {"SELECT", "WHERE", "ON", "AS", "BY", "AND", "OR", "SET", "WITH", "VALUES"}
_REMEDY = "Write it right behind the table's name: FROM t /*+ OPTIONS('key' = 'value') */ AS x."


class Call:
    """A call of a table function that becomes a table with options; ``end`` is the offset behind it."""

    def __init__(self, start: int, end: int, table: tuple[str, ...], option: str) -> None:
        self.start, self.end, self.table = start, end, table
        self.options = [option]

    def edit(self) -> Edit:
        """What the call becomes."""
        return Edit(self.start, self.end, f"{'.'.join(map(quote_name, self.table))} WITH ({', '.join(self.options)})")


class Hints:
    """Places the OPTIONS hints of one statement.

    Args:
        source: the statement, whose ``edits``, ``options`` and ``hinted`` are filled.
        calls: the calls of table functions, which take options too, by the index of the token that closes each.
    """

    def __init__(self, source: Source, calls: dict[int, Call]) -> None:
        self.source = source
        self.calls = calls
        words = {t.word for t in source.tokens}
        self.ctes = scopes(Cursor(source)) if "WITH" in words else []
        self.travels = _time_travels(source) if "OF" in words else {}
        self.travel_starts = {end: start for start, end in self.travels.items()}

    def read(self, tokens: Sequence[Token]) -> None:
        """Note what the hints among the tokens become."""
        index = 0
        for is_hint, run in groupby(tokens, key=lambda t: t.kind == "hint"):
            group = list(run)
            if not is_hint:
                index += len(group)
            elif (options := self._options(group)) is not None:
                self._place(index, group[0], group[-1], options)

    def _options(self, hints: Sequence[Token]) -> list[Property] | None:
        """The options that hints in a row give; None where they are hints of Spark's."""
        options: list[Property] = []
        is_ours = has_others = False
        for hint in hints:
            inner = scan(self.source.text, hint.start + len("/*+"), hint.end - len("*/")) or []
            cursor = Cursor(Source(self.source.text, inner))
            while not cursor.done:
                if cursor.sees("OPTIONS", "("):
                    is_ours = True
                    cursor.next()
                    inside = cursor.group()
                    if inside is None:
                        raise self._error("The hint's bracket never closes.", hint)
                    given = read_properties(inside)
                    self._check_assigned(given)
                    options += given
                else:
                    has_others = has_others or not cursor.sees(",")
                    cursor.skip()
        if is_ours and has_others:
            raise self._error("An OPTIONS hint stands alone in its comment.", hints[0])
        return options if is_ours else None

    def _check_assigned(self, options: Sequence[Property]) -> None:
        """Nothing if each option has its sign, which Spark's own lists of properties may lack and Flink's hints not."""
        for p in options:
            if "=" not in self.source.text[p.first.end : p.last.start]:
                raise SqlSyntaxError(
                    f"The option '{p.key}' of the hint lacks its sign.",
                    text=self.source.text,
                    start=p.first.start,
                    end=p.last.end,
                    remedy=f"Write '{p.key}' = '{p.value}'.",
                )

    def _place(self, index: int, first: Token, last: Token, options: list[Property]) -> None:
        """Turn the hint before token ``index`` into options of the table that it follows."""
        source, tokens = self.source, self.source.tokens
        before = index - 1
        if before in self.calls:
            self.calls[before].options += [p.sql for p in options]
            source.edits.append(Edit(first.start, last.end, ""))
            return
        name_end = self.travel_starts.get(before, index) - 1
        start = self._start_of_name(name_end, first)
        relation = f"WITH ({', '.join(p.sql for p in options)})" if options else ""
        if index in self.travels:
            at = tokens[self.travels[index]].end
            source.edits += [Edit(first.start, last.end, ""), clause(source.text, at, at, relation)]
        else:
            source.edits.append(clause(source.text, first.start, last.end, relation))
        source.hinted[tokens[before].end] = last.end
        source.options[tokens[name_end].end] = {p.key: p.value for p in options}
        self._make_readable(start)

    def _make_readable(self, start: int) -> None:
        """``TABLE t`` takes no options in Spark, ``SELECT * FROM t`` does."""
        opening, earlier = self._words_before(start)
        at = self.source.tokens[start - 1]
        if opening == "TABLE" and earlier not in ("INTO", "OVERWRITE"):
            self.source.edits.append(Edit(at.start, at.end, "SELECT * FROM"))
        elif opening == "(" and earlier == "TABLE":
            self.source.edits.append(Edit(at.end, at.end, "SELECT * FROM "))

    def _start_of_name(self, end: int, hint: Token) -> int:
        """The index of the first token of the table's name that ends with token ``end``."""
        tokens = self.source.tokens
        if end < 0 or tokens[end].word in _NO_TABLE:
            raise self._error("An OPTIONS hint follows a table.", hint)
        opening = self.source.partners.get(end, 0) - 1
        if tokens[end].word == ")" and opening >= 0 and tokens[opening].word == "IDENTIFIER":
            start = opening
        elif tokens[end].kind in ("word", "quoted"):
            start = end
            while start >= 2 and tokens[start - 1].word == "." and tokens[start - 2].kind in ("word", "quoted"):
                start -= 2
        else:
            raise self._error("An OPTIONS hint follows a table.", hint)
        before, earlier = self._words_before(start)
        if before not in _BEFORE_A_TABLE or (before == "TABLE" and earlier in _DEFINES_A_TABLE):
            raise self._error("An OPTIONS hint follows the name of a table that is read or written.", hint)
        if start == end and self._is_cte(start):
            name = unquote_name(tokens[start])
            problem = f"The OPTIONS hint follows '{name}', which is a common table expression here."
            raise self._error(problem, hint, "Give the options to the tables inside the expression.")
        return start

    def _words_before(self, index: int) -> tuple[str, str]:
        """The word before token ``index``, and the one before that."""
        tokens = self.source.tokens
        return tokens[index - 1].word if index >= 1 else "", tokens[index - 2].word if index >= 2 else ""

    def _is_cte(self, index: int) -> bool:
        name = unquote_name(self.source.tokens[index]).lower()
        return any(cte.name == name and cte.start <= index < cte.end for cte in self.ctes)

    def _error(self, problem: str, hint: Token, remedy: str = _REMEDY) -> SqlSyntaxError:
        return SqlSyntaxError(problem, text=self.source.text, start=hint.start, end=hint.end, remedy=remedy)


def _time_travels(source: Source) -> dict[int, int]:
    """The index of the last token of each time-travel clause, by that of its first."""
    travels: dict[int, int] = {}
    cursor = Cursor(source)
    while not cursor.done:
        start = cursor.position
        if cursor.sees("FOR|VERSION|SYSTEM_VERSION|TIMESTAMP|SYSTEM_TIME") and skip_time_travel(cursor):
            travels[start] = cursor.position - 1
        else:
            cursor.next()
    return travels
