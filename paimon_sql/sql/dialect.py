"""The sqlglot dialect of Paimon's table definitions, as a difference to sqlglot's Spark.

It reads what Flink's and Paimon's documents write and Spark does not: types such as ``TIMESTAMP(3)``, ``BYTES``,
``MULTISET<INT>`` or ``ROW<a INT 'comment'>``, ``PRIMARY KEY .. NOT ENFORCED`` beside a column or as a constraint, and
``NULL`` as a mark of a column. Whatever else stands in a column's definition is passed over for Spark to judge.

Nodes carry their place in ``meta``: ``start`` is the offset of the first character, ``end`` that of the last. A type
that Paimon has carries it under ``meta["paimon"]``, while its node says what Spark reads it as; ``meta["foreign"]``
says whether its spelling is one that Spark does not know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.types import (
    ArrayType,
    DataField,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    VectorType,
    bytes_type,
    parse_atomic,
)
from paimon_sql.sql.types import spark_type

_OTHER_NAMES = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "CHARACTER": "CHAR",
    "TIMESTAMP_NTZ": "TIMESTAMP",
}
_ATOMIC = {
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "NUMERIC", "DEC"),
    *("STRING", "CHAR", "VARCHAR", "BYTES", "BINARY", "VARBINARY", "BLOB", "VARIANT"),
    *("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"),
}
_FOREIGN = frozenset(["BYTES", "VARBINARY", "BLOB"])
_FOREIGN_WITH_SIZE = frozenset(["BINARY", "TIMESTAMP", "TIMESTAMP_LTZ"])
_FOREIGN_ALONE = frozenset(["CHAR", "VARCHAR"])
_TABLE_CONSTRAINTS = ("PRIMARY", "UNIQUE", "CHECK", "FOREIGN")


E = TypeVar("E", bound=exp.Expr)


class PlacedError(ParseError):
    """A construct that the dialect refuses; ``start`` and ``end`` are the offsets of the first and last character."""

    def __init__(self, problem: str, start: int, end: int, remedy: str | None = None) -> None:
        super().__init__(problem, [{"description": problem}])
        self.problem, self.start, self.end, self.remedy = problem, start, end, remedy


class PaimonParser(SparkParser):
    """Spark's parser with the columns of Paimon's tables."""

    EXPRESSION_PARSERS = {
        **SparkParser.EXPRESSION_PARSERS,
        exp.Schema: lambda self: self._parse_schema(),
    }

    # -- columns and constraints -------------------------------------------------------------------------------------

    def _parse_constraint(self) -> exp.Expr | None:
        start = self._curr
        if self._match_text_seq("WATERMARK", "FOR"):
            self._refuse(
                "A table of Paimon keeps no WATERMARK here", start, "Leave it out; Spark sets it with withWatermark."
            )
        if self._is_text("CONSTRAINT") and self._next and self._is_text_at(2, *_TABLE_CONSTRAINTS):
            self._advance(2)
        if self._match_text_seq("PRIMARY", "KEY"):
            if not self._match(TokenType.L_PAREN, advance=False):
                remedy = "Write PRIMARY KEY (a, b) NOT ENFORCED."
                self._refuse("PRIMARY KEY needs the names of its columns", start, remedy)
            keys = self._parse_wrapped_id_vars()
            self._parse_enforcement(start)
            return self._placed(exp.PrimaryKey(expressions=keys), start)
        if self._prev is not start and self._is_text(*_TABLE_CONSTRAINTS) and self._is_text_at(1, "(", "KEY"):
            self._skip_element()
            return self._verbatim(start)
        return None

    def _parse_field_def(self) -> exp.Expr | None:
        start = self._curr
        name = self._parse_id_var(any_token=True)
        if name is None:
            self._refuse("A column begins with its name", start)
        kind = None if self._is_text("AS") else self._parse_types(schema=True)
        constraints: list[exp.Expr] = []
        position = None
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            here = self._curr
            if self._match_text_seq("PRIMARY", "KEY"):
                self._parse_enforcement(here)
                key = exp.ColumnConstraint(kind=exp.PrimaryKeyColumnConstraint())
                constraints.append(self._placed(key, here))
            elif self._match_text_seq("NOT", "NULL"):
                constraints.append(self._placed(_nullability(False), here))
            elif self._match_text_seq("NULL"):
                constraints.append(self._placed(_nullability(True), here))
            elif self._match_text_seq("COMMENT"):
                comment = exp.CommentColumnConstraint(this=self._parse_string())
                constraints.append(exp.ColumnConstraint(kind=comment))
            elif self._match_text_seq("FIRST") or self._match_text_seq("AFTER"):
                where = self._prev.text.upper()
                after = self._parse_id_var(any_token=True) if where == "AFTER" else None
                position = exp.ColumnPosition(this=after, position=where)
            elif self._match_text_seq("GENERATED"):
                self._match_texts(("ALWAYS", "BY"))
                self._match_text_seq("DEFAULT")
                self._match_text_seq("AS")
                self._skip()
                constraints.append(self._verbatim(here))
            elif self._match_text_seq("DEFAULT"):
                self._skip_default()
                constraints.append(self._verbatim(here))
            elif self._match_text_seq("METADATA"):
                self._refuse("A table of Paimon has no METADATA columns", here, "Leave the column out.")
            elif self._match_text_seq("AS"):
                self._refuse("A table of Paimon has no computed columns", here, "Compute it in a view.")
            else:
                self._skip()
                constraints.append(self._verbatim(here))
        return self._placed(exp.ColumnDef(this=name, kind=kind, constraints=constraints, position=position), start)

    def _parse_enforcement(self, start: Token) -> None:
        if self._match_text_seq("ENFORCED"):
            self._refuse("A primary key cannot be ENFORCED", start, "Write NOT ENFORCED: writes merge rows of one key.")
        self._match_text_seq("NOT", "ENFORCED")
        if not self._match_text_seq("RELY"):
            self._match_text_seq("NORELY")

    # -- types -------------------------------------------------------------------------------------------------------

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        start, index = self._curr, self._index
        if schema:
            self._foreign = False
            paimon = self._parse_paimon_type()
            if paimon is not None:
                node = exp.DataType.build(spark_type(paimon), dialect=Spark)
                node.meta.update(paimon=paimon, foreign=self._foreign)
                return self._placed(node, start)
            self._retreat(index)
        return super()._parse_types(check_func, schema, allow_identifiers, with_collation)

    def _parse_paimon_type(self) -> DataType | None:
        """The type at the parser's place; None where Paimon has none of that name."""
        start = self._curr
        try:
            found = self._parse_nested_type() if self._is_nested() else self._parse_atomic_type()
        except InvalidSchemaError as error:
            raise self._placed_error(error.message.rstrip("."), start) from None
        while found is not None and (self._match_text_seq("ARRAY") or self._match_text_seq("MULTISET")):
            self._foreign = True
            found = ArrayType(True, found) if self._prev.text.upper() == "ARRAY" else MultisetType(True, found)
        return found

    def _is_nested(self) -> bool:
        return self._is_text("ARRAY", "MAP", "MULTISET", "ROW", "STRUCT", "VECTOR") and self._is_text_at(1, "<", "(")

    def _parse_atomic_type(self) -> DataType | None:
        start = self._curr
        word = start.text.upper()
        name = _OTHER_NAMES.get(word, word)
        if name not in _ATOMIC or self._match(TokenType.IDENTIFIER, advance=False):
            return None
        self._advance()
        precise = name == "DOUBLE" and self._match_text_seq("PRECISION")
        size = self._parse_size()
        suffix = ""
        if name in ("TIME", "TIMESTAMP"):
            for words in (("WITH", "LOCAL", "TIME", "ZONE"), ("WITHOUT", "TIME", "ZONE")):
                if self._match_text_seq(*words):
                    suffix = " " + " ".join(words)
            if self._match_text_seq("WITH", "TIME", "ZONE"):
                self._refuse("Paimon has no times with a time zone of their own", start, "Write WITH LOCAL TIME ZONE.")
        if word == "TIMESTAMP" and not suffix and isinstance(self.dialect, SparkStylePaimon):
            return None if size else LocalZonedTimestampType()
        self._foreign = self._foreign or bool(
            precise or suffix or name in _FOREIGN or (name in _FOREIGN_WITH_SIZE if size else name in _FOREIGN_ALONE)
        )
        if name == "BINARY" and not size:  # Spark's word for bytes of any length; no one means a single byte
            return bytes_type()
        return parse_atomic(f"{name}{size}{suffix}")

    def _parse_size(self) -> str:
        if not self._match(TokenType.L_PAREN):
            return ""
        numbers = self._parse_csv(self._parse_number)
        self._match_r_paren()
        return f"({', '.join(n.name for n in numbers)})"

    def _parse_nested_type(self) -> DataType | None:
        kind = self._curr.text.upper()
        self._advance()
        closing = ">" if self._curr.text == "<" else ")"
        self._foreign = self._foreign or closing == ")" or kind in ("ROW", "MULTISET", "VECTOR")
        self._advance()
        found: DataType | None
        if kind in ("ROW", "STRUCT"):  # of nested types, only these may hold NOT NULL in Spark
            fields = self._parse_csv(self._parse_row_field)
            numbered = tuple(replace(f, id=i) for i, f in enumerate(fields) if f is not None)
            found = RowType(True, numbered) if numbered and len(numbered) == len(fields) else None
        else:
            inner = self._parse_inner_type()
            if inner is None:
                return None
            if kind == "MAP":
                value = self._parse_inner_type() if self._match(TokenType.COMMA) else None
                found = MapType(True, inner, value) if value is not None else None
            elif kind == "VECTOR":
                length = self._parse_number() if self._match(TokenType.COMMA) else None
                found = VectorType(True, inner, int(length.name)) if length is not None else None
            else:
                found = ArrayType(True, inner) if kind == "ARRAY" else MultisetType(True, inner)
        if found is None or self._curr.text != closing:
            return None
        self._advance()
        return found

    def _parse_inner_type(self, is_field: bool = False) -> DataType | None:
        """The type of an element, key, value or field, with its nullability."""
        found = self._parse_paimon_type()
        not_null = self._match_text_seq("NOT", "NULL")
        if not_null or self._match_text_seq("NULL"):
            self._foreign = self._foreign or not (not_null and is_field)
        return found.as_nullable(not not_null) if found is not None else None

    def _parse_row_field(self) -> DataField | None:
        name = self._parse_id_var(any_token=True)
        self._match(TokenType.COLON)
        found = self._parse_inner_type(is_field=True)
        if name is None or found is None:
            return None
        self._match_text_seq("COMMENT")
        comment = self._parse_string()
        return DataField(0, name.name, found, comment.name if comment else None)

    # -- walking -----------------------------------------------------------------------------------------------------

    def _is_text(self, *words: str) -> bool:
        return self._is_text_at(0, *words)

    def _is_text_at(self, ahead: int, *words: str) -> bool:
        index = self._index + ahead
        if index >= len(self._tokens):
            return False
        token = self._tokens[index]
        return token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING) and token.text.upper() in words

    def _skip(self) -> None:
        """Step over a token, or over a bracket with all that it holds."""
        depth = 0
        while self._curr:
            depth += self._curr.text in ("(", "[")
            depth -= self._curr.text in (")", "]")
            self._advance()
            if depth <= 0:
                return

    def _skip_element(self) -> None:
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            self._skip()

    def _skip_default(self) -> None:
        """Step over a default value, whose NULL marks no column."""
        self._skip()
        while self._curr and not self._is_text(",", ")", "NOT", "NULL", "COMMENT", "PRIMARY", "FIRST", "AFTER"):
            self._skip()

    def _placed(self, node: E, start: Token) -> E:
        node.meta.update(start=start.start, end=self._prev.end)
        return node

    def _verbatim(self, start: Token) -> exp.Var:
        return self._placed(exp.Var(this=self._find_sql(start, self._prev)), start)

    def _placed_error(self, problem: str, start: Token, remedy: str | None = None) -> PlacedError:
        last = self._prev if self._prev and self._prev.end >= start.start else start
        return PlacedError(problem, start.start, last.end, remedy)

    def _refuse(self, problem: str, start: Token, remedy: str | None = None) -> NoReturn:
        raise self._placed_error(problem, start, remedy)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        at = token or self._curr or self._prev
        raise PlacedError(message, at.start, at.end) if at else ParseError(message)


def _nullability(allow_null: bool) -> exp.ColumnConstraint:
    return exp.ColumnConstraint(kind=exp.NotNullColumnConstraint(allow_null=allow_null))


class Paimon(Spark):
    """Spark SQL with table definitions as Flink and Paimon write them."""

    class Tokenizer(Spark.Tokenizer):
        VAR_SINGLE_TOKENS = {"$"}
        STRING_ESCAPES = [*Spark.Tokenizer.STRING_ESCAPES, "'", '"']
        # Two words, between which a comment may stand.
        KEYWORDS = {k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if k not in ("PRIMARY KEY", "DOUBLE PRECISION")}

    Parser = PaimonParser


class SparkStylePaimon(Paimon):
    """The same, where TIMESTAMP alone has Spark's meaning: a moment, not a wall-clock time."""
