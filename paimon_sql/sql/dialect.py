"""The sqlglot dialect of Paimon's table definitions, as a difference to sqlglot's Spark.

It reads what Flink's and Paimon's documents write and Spark does not: Paimon's types (see ``type_parser``), ``PRIMARY
KEY .. NOT ENFORCED`` beside a column or as a constraint, and ``NULL`` as a mark of a column. Whatever else stands in a
column's definition is passed over for Spark to judge. Nodes carry their place in ``meta``: ``start`` is the offset of
the first character, ``end`` that of the last.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.type_parser import TypeParser

_TABLE_CONSTRAINTS = ("PRIMARY", "UNIQUE", "CHECK", "FOREIGN")


class PaimonParser(TypeParser):
    """Spark's parser with the columns of Paimon's tables."""

    EXPRESSION_PARSERS = {
        **TypeParser.EXPRESSION_PARSERS,
        exp.Schema: lambda self: self._parse_schema(),
    }

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

    def _skip_element(self) -> None:
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            self._skip()

    def _skip_default(self) -> None:
        """Step over a default value, whose NULL marks no column."""
        self._skip()
        while self._curr and not self._is_text(",", ")", "NOT", "NULL", "COMMENT", "PRIMARY", "FIRST", "AFTER"):
            self._skip()


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

    TIMESTAMP_IS_LOCAL = False
    """Whether TIMESTAMP alone is a moment, as in Spark, and not a wall-clock time, as in Flink."""


class SparkStylePaimon(Paimon):
    """The same, where TIMESTAMP alone has Spark's meaning."""

    TIMESTAMP_IS_LOCAL = True
