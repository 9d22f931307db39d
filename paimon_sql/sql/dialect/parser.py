"""The parser, as a difference to sqlglot's Spark parser.

It has two depths. Deep parsing makes a complete tree, as sqlglot does. Shallow parsing keeps queries and expressions as
text (`Verbatim`) with the Paimon tables inside: it is fast, and accepts all that Spark accepts. A statement that
sqlglot cannot parse deeply is parsed shallowly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.column_definitions import ColumnParser
from paimon_sql.sql.dialect.navigator import whole_brackets
from paimon_sql.sql.dialect.nodes import Explain, Names, Script, Verbatim
from paimon_sql.sql.errors import RefusedError

_CHANGES = "DELETE|UPDATE|MERGE|INSERT"
_MODES = "LOGICAL|FORMATTED|EXTENDED|CODEGEN|COST"
_RAW = "SET|RESET|ADD|LIST|DFS|REFRESH"
"""First words of commands whose rest is not SQL, such as the path after ADD JAR."""
_OPENINGS = frozenset([";", "BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT"])
"""The words of a script after which a statement may begin."""
_STATEMENT_SET = ["EXECUTE", "STATEMENT", "SET", "BEGIN"]
"""The words before a set of INSERTs in Flink."""
_CLIENT_SET = ["BEGIN", "STATEMENT", "SET", ";"]
"""The same, as Flink's SQL client also has it."""
_COMMANDS = frozenset(["ADD", "CALL", "DFS", "LIST", "MSCK", "REFRESH", "REPAIR", "RESET", "SET", "SHOW"])
"""First words of statements for which sqlglot has no tree, or an insufficient one."""


READERS: dict[str, list[tuple[tuple[str, ...], Read]]] = {}
"""By first word: the words that a statement begins with (``A|B`` is a choice), and its reader."""


class PaimonParser(ColumnParser):
    """Parses the statements of Paimon, Flink and Spark."""

    _target_end: int | None = None
    _only_new = False

    # -- statements --------------------------------------------------------------------------------------------------

    def _parse(
        self, parse_method: Callable[..., exp.Expr | None], raw_tokens: list[Token], sql: str | None = None
    ) -> list[exp.Expr | None]:
        words = [token.text.upper() for token in raw_tokens[:4]]
        if words[:1] != ["BEGIN"] and words[1:3] != [":", "BEGIN"] and words != _STATEMENT_SET:
            return super()._parse(parse_method, whole_brackets(raw_tokens), sql)
        self.reset()
        self.sql = sql or ""
        self._chunks = [raw_tokens]
        self._advance_chunk()
        return [self._parse_script()]

    def _parse_statement(self) -> exp.Expr | None:
        if not self._curr:
            return None
        start = self._index
        if start:  # a nested statement
            stays_text = self.shallow and not self.sees(_CHANGES)
            return self.query() if stays_text else super()._parse_statement()
        if self.shallow:
            return self._parse_ours() or self._parse_shallowly()
        try:
            node = self._parse_ours() or (None if self.word() in _COMMANDS else super()._parse_statement())
            if node is not None and not self._curr:
                node.add_comments(self._tokens[start].comments)
                return node
        except RefusedError:
            raise
        except ParseError:
            pass
        self.move_to(start)
        return self.rest()

    def sparks_statement(self) -> exp.Expr | None:
        """Parse the next statement with sqlglot's Spark parser."""
        return super()._parse_statement()

    def _parse_as_command(self, start: Token) -> exp.Command:
        self.raise_error("sqlglot has no tree for this", start)

    def _parse_ours(self) -> exp.Expr | None:
        """Parse a statement of the dialect; None, without moving, if there is none."""
        start = self._index
        if self.sees("EXPLAIN"):
            return self._parse_explain()
        for words, read in READERS.get(self.word(), ()):
            if self.sees(*words):
                node = read(self)
                if node is not None:
                    return self.placed(node, self._tokens[start])
                self.move_to(start)
        return None

    def _parse_shallowly(self) -> exp.Expr | None:
        """Parse a row change with its expressions as text, or the whole statement as text."""
        start = self._index
        if self.sees(_RAW) and not self.sees("SET", "VAR|VARIABLE") and not self.sees("REFRESH", "TABLE|FUNCTION"):
            return self.as_written()
        with_ = self._parse_with()
        if not self.sees(_CHANGES):
            self.move_to(start)
            return self.rest()
        try:
            node = super()._parse_statement()
        except RefusedError:
            raise
        except ParseError:
            node = None
        if node is None or self._curr:
            self.move_to(start)
            return self.rest()
        node.set("with_", with_)
        self.placed(node, self._tokens[start])
        node.meta["has_parameters"] = self.parameter_within(node) is not None
        return node

    def _parse_explain(self) -> Explain:
        first = self._curr
        self._advance()
        if self.sees("STATEMENT", "SET"):
            raise self.refusal("EXPLAIN takes one statement, not a set", remedy="EXPLAIN each INSERT.")
        mode = self.word() if self.sees(_MODES) else None
        if mode:
            self._advance()
        node = self._parse_ours() or (self._parse_shallowly() if self.shallow else super()._parse_statement())
        return self.placed(Explain(this=node, mode=mode), first)

    def _parse_script(self) -> Script:
        """Parse ``BEGIN .. END``, with the statements of the dialect inside."""
        first, found = self._curr, list[exp.Expr]()
        removed = self._parse_statement_set()
        while self._curr:
            if (self.word(-1) if self._index else "BEGIN") in _OPENINGS:
                start, end = self._index, self._index
                while end < self._tokens_size and self._tokens[end].token_type is not TokenType.SEMICOLON:
                    end = self._closing(end) + 1
                inner = type(self)(dialect=self.dialect)
                inner.shallow = True
                inner._chunks = [self._tokens[start:end]]
                inner.sql = self.sql
                inner._advance_chunk()
                node = inner._parse_statement()
                if node is not None and not inner._curr and not isinstance(node, Verbatim):
                    found.append(node)
                    self._advance(end - start)
                    continue
            self.step()
        text = exp.Var(this=self.sql[first.start : self._prev.end + 1])
        script = Script(this=text, expressions=found, relations=self.relations_within(0, self._tokens_size))
        script.meta["removed"] = removed
        return self.placed(script, first)

    def _parse_statement_set(self) -> list[tuple[int, int]]:
        """The parts of a script that make it a statement set of Flink, which holds INSERTs only; does not move.

        Raises:
            RefusedError: a statement of the set is no INSERT.
        """
        tokens, ahead = self._tokens, len(_STATEMENT_SET)
        if self.sees(*_STATEMENT_SET):
            removed = (tokens[0].start, tokens[ahead - 1].start)
        elif self.sees(*_CLIENT_SET):
            removed = (tokens[0].end + 1, tokens[ahead - 1].end + 1)
        else:
            return []
        while True:
            if not self.sees("INSERT|WITH", ahead=ahead):
                raise self.refusal("A statement set consists of INSERT statements and END", self.token_at(ahead))
            while (token := self.token_at(ahead)) is not None and token.token_type is not TokenType.SEMICOLON:
                ahead = self._closing(ahead) + 1
            ahead += 1
            if self.sees("END", ahead=ahead):
                return [removed]

    # -- queries and expressions that stay text ----------------------------------------------------------------------

    def query(self) -> exp.Expr | None:
        """Parse the next query, up to the end or the closing bracket around it."""
        if not self.shallow:
            first, node = self._curr, self._parse_ddl_select()
            return None if node is None else self.placed(node, first)
        index = self._index
        while index < self._tokens_size and self._tokens[index].token_type is not TokenType.R_PAREN:
            index = self._closing(index) + 1
        return self.text_up_to(index)

    def value(self) -> exp.Expr | None:
        """Parse the next expression."""
        return self._parse_disjunction()

    def _parse_ddl_select(self) -> exp.Expr | None:
        return self.query() if self.shallow else super()._parse_ddl_select()

    def _parse_select(self, nested: bool = False, table: bool = False, *args: bool, **kwargs: bool) -> exp.Expr | None:
        if not self.shallow:
            return super()._parse_select(nested, table, *args, **kwargs)
        if self.sees("("):
            if not self.sees("SELECT|WITH|VALUES|TABLE|FROM|(", ahead=1):
                return None
            first = self._curr
            self._advance()
            inside = self.query()
            self._match_r_paren()
            query = self.placed(exp.Subquery(this=inside), first)
            query.set("alias", self._parse_table_alias() if table else None)
            return query
        return self.query() if self.sees("SELECT|WITH|VALUES|FROM") else None

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        first = self._next if self.sees("AS") else self._curr
        alias = super()._parse_table_alias(alias_tokens)
        return None if alias is None else self.placed(alias, first)

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        first = self._curr
        with_ = super()._parse_with(skip_with_token)
        return None if with_ is None else self.placed(with_, first)

    def _parse_update_assignment(self) -> exp.Expr | None:
        if self.shallow and not self._curr:
            self.raise_error("An assignment is expected here")
        return super()._parse_update_assignment()

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        if not self.shallow or not self.sees("("):
            return super()._parse_value(values)
        first = self._curr
        self._advance()
        pieces = self._parse_csv(self.expression_text)
        self._match_r_paren()
        return self.placed(exp.Tuple(expressions=pieces), first)

    def _parse_insert(self) -> exp.Insert | exp.MultitableInserts:
        verb, evolves = self._prev, self._accept_evolution()
        self._target_end, self._only_new = None, False
        node = super()._parse_insert()
        node.meta.update(evolves=evolves, verb=verb.start, into_end=self._target_end)
        if self._only_new:
            node.set("exists", True)
        return node

    def _accept_evolution(self) -> bool:
        evolves = self.accept("WITH", "SCHEMA", "EVOLUTION")
        if evolves and not self.shallow:
            self.raise_error("sqlglot has no tree for this")
        return evolves

    def _parse_insert_table(self) -> exp.Expr | None:
        table = self._parse_table_parts(schema=True)
        if not isinstance(table, exp.Table):
            return table
        table.set("version", self._parse_version())
        table.set("partition", self._parse_partition())
        self._only_new = self.accept("IF", "NOT", "EXISTS")
        if not self.shallow and table.args.get("partition") and (self._only_new or table.args.get("version")):
            self.raise_error("sqlglot writes this otherwise")
        self._target_end = self._prev.end + 1
        return self._parse_schema(this=table)

    def _parse_merge(self) -> exp.Merge:
        evolves = self._accept_evolution()
        node = super()._parse_merge()
        node.meta["evolves"] = evolves
        return node

    def _parse_disjunction(self) -> exp.Expr | None:
        return self.expression_text() if self.shallow else super()._parse_disjunction()

    def _parse_cte(self) -> exp.CTE | exp.FunctionSpecification | None:
        if not self.shallow:
            return super()._parse_cte()
        first, name = self._curr, self.identifier()
        if name is None:
            self.raise_error("A common table expression needs a name")
        if self.accept("MAX", "RECURSION", "LEVEL"):
            self._advance()
        columns = None
        if self.lists_columns():
            self._advance()
            columns = self.name_list()
            self._match_r_paren()
        self.accept("AS")
        self._match_l_paren()
        inside = self.query()
        self._match_r_paren()
        alias = exp.TableAlias(this=name, columns=None if columns is None else columns.expressions)
        return self.placed(exp.CTE(this=inside, alias=alias), first)

    # -- for slots ---------------------------------------------------------------------------------------------------

    @property
    def index(self) -> int:
        """The index of the next token."""
        return int(self._index)

    @property
    def token(self) -> Token:
        """The next token."""
        return self._curr

    def move_to(self, index: int) -> None:
        """Move to the token of that index, or to the end."""
        self._retreat(min(index, self._tokens_size))

    def table_name(self) -> exp.Expr | None:
        """Parse the name of a table."""
        if not self.is_name():
            return None
        table = self._parse_table_parts(schema=not self.sees("IDENTIFIER", "("))
        return table if isinstance(table, exp.Table) else None

    def names_in_brackets(self) -> Names | None:
        """Parse names in brackets, separated by commas; None if no bracket is next."""
        first, close = self._curr, self.enter()
        if close is None:
            return None
        if self._index == close:
            raise self.refusal("The column list is empty", first)
        names = self.name_list()
        if names is None or self._index != close:
            raise self.refusal("A column list can contain only names")
        self._advance()
        return self.placed(names, first)

    def name_list(self) -> Names | None:
        """Parse names separated by commas."""
        first, found = self._curr, list[exp.Identifier]()
        while (name := self.identifier()) is not None:
            found.append(name)
            if not self.accept(","):
                break
        return self.placed(Names(expressions=found), first) if found and self.word(-1) != "," else None

    def schema(self, table: exp.Expr) -> exp.Schema:
        """Parse the column definitions in the next bracket."""
        first, schema = self._curr, self._parse_schema(table)
        if not isinstance(schema, exp.Schema):
            self.raise_error("Expected column definitions")
        return self.placed(schema, first)

    def column(self) -> exp.Expr | None:
        """Parse a column definition or constraint."""
        return self._parse_constraint() or self._parse_field_def()

    def previous(self) -> Token:
        """The previous token."""
        return self._prev

    @property
    def tokens(self) -> list[Token]:
        """The tokens of the text."""
        return self._tokens

    def parameter_within(self, node: exp.Expr) -> Token | None:
        """The first parameter, ``?`` or ``:name``, in the text of a node."""
        start, end = node.meta["start"], node.meta["end"]
        for number, token in enumerate(self._tokens):
            if not start <= token.start <= end:
                continue
            if token.token_type is TokenType.PLACEHOLDER:
                return token
            if token.token_type is TokenType.COLON and not self._follows_name(number):
                return token
        return None

    def _follows_name(self, number: int) -> bool:
        """Whether a colon belongs to the name before it, as in ``STRUCT<a: INT>`` and ``json:path``."""
        before, colon = self._tokens[number - 1], self._tokens[number]
        if number == 0 or before.end + 1 != colon.start:
            return False
        return (
            before.token_type in (TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET)
            or before.text.isidentifier()
        )

    def whole_number(self) -> exp.Literal | None:
        """Parse an integer without sign."""
        token = self._curr
        if token.token_type is not TokenType.NUMBER or not token.text.isdecimal():
            return None
        self._advance()
        return self.placed(exp.Literal(this=token.text, is_string=False), token)

    def missing(self, before: str, what: str) -> RefusedError:
        """The error that ``what`` is missing here, after the words ``before``."""
        return self.refusal(f"{before} needs {what}" if before else f"Expected {what}")


Read = Callable[[PaimonParser], exp.Expr | None]
"""Reader of a statement; on None, for another statement, the parser may be anywhere."""


def reads(*words: str) -> Callable[[Read], Read]:
    """Register a reader of the statements that begin with these words."""

    def register(read: Read) -> Read:
        for first in words[0].split("|"):
            READERS.setdefault(first, []).append((words, read))
        return read

    return register
