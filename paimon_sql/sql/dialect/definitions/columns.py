"""Parsing of column definitions.

Flink and Paimon have syntax that Spark does not know: ``PRIMARY KEY .. NOT ENFORCED`` at a column or as a constraint,
and ``NULL`` at a column. The rest of a definition stays text for Spark to parse.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.definitions.types import TypeParser
from paimon_sql.sql.dialect.nodes import Verbatim

_TABLE_CONSTRAINTS = ("PRIMARY", "UNIQUE", "CHECK", "FOREIGN")


class ColumnParser(TypeParser):
    """Parses the columns of Paimon's tables."""

    def _parse_constraint(self) -> exp.Expr | None:
        start = self._curr
        if self._match_text_seq("WATERMARK", "FOR"):
            self.refuse(
                "A table of Paimon keeps no WATERMARK here", start, "Leave it out; Spark sets it with withWatermark."
            )
        if self.sees("CONSTRAINT") and self._next and self.sees("|".join(_TABLE_CONSTRAINTS), ahead=2):
            self._advance(2)
        if self._match_text_seq("PRIMARY", "KEY"):
            if not self._match(TokenType.L_PAREN, advance=False):
                remedy = "Write PRIMARY KEY (a, b) NOT ENFORCED."
                self.refuse("PRIMARY KEY needs the names of its columns", start, remedy)
            keys = self._parse_wrapped_id_vars()
            self._parse_enforcement(start)
            return self.placed(exp.PrimaryKey(expressions=keys), start)
        if self._prev is not start and self.sees("|".join(_TABLE_CONSTRAINTS)) and self.sees("(|KEY", ahead=1):
            self._skip_element()
            return self._as_written(start)
        return None

    def _parse_field_def(self) -> exp.Expr | None:
        start = self._curr
        name = self._parse_id_var(any_token=True)
        if name is None:
            self.refuse("A column begins with its name", start)
        kind = None if self.sees("AS") else self._parse_types(schema=True)
        constraints: list[exp.Expr] = []
        position = None
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            here = self._curr
            if self._match_text_seq("PRIMARY", "KEY"):
                self._parse_enforcement(here)
                key = exp.ColumnConstraint(kind=exp.PrimaryKeyColumnConstraint())
                constraints.append(self.placed(key, here))
            elif self._match_text_seq("NOT", "NULL"):
                constraints.append(self.placed(_nullability(False), here))
            elif self._match_text_seq("NULL"):
                constraints.append(self.placed(_nullability(True), here))
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
                self.step()
                constraints.append(self._as_written(here))
            elif self._match_text_seq("DEFAULT"):
                self._skip_default()
                constraints.append(self._as_written(here))
            elif self._match_text_seq("METADATA"):
                self.refuse("A table of Paimon has no METADATA columns", here, "Leave the column out.")
            elif self._match_text_seq("AS"):
                self.refuse("A table of Paimon has no computed columns", here, "Compute it in a view.")
            else:
                self.step()
                constraints.append(self._as_written(here))
        return self.placed(exp.ColumnDef(this=name, kind=kind, constraints=constraints, position=position), start)

    def _as_written(self, start: Token) -> Verbatim:
        """The tokens from ``start`` up to here as text."""
        return self.placed(Verbatim(this=self.sql[start.start : self._prev.end + 1]), start)

    def _parse_enforcement(self, start: Token) -> None:
        if self._match_text_seq("ENFORCED"):
            self.refuse("A primary key cannot be ENFORCED", start, "Write NOT ENFORCED: writes merge rows of one key.")
        self._match_text_seq("NOT", "ENFORCED")
        if not self._match_text_seq("RELY"):
            self._match_text_seq("NORELY")

    def _skip_element(self) -> None:
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            self.step()

    def _skip_default(self) -> None:
        """Move past a default value, whose NULL is not a constraint."""
        self.step()
        while self._curr and not self.sees(",|)|NOT|NULL|COMMENT|PRIMARY|FIRST|AFTER"):
            self.step()


def _nullability(allow_null: bool) -> exp.ColumnConstraint:
    return exp.ColumnConstraint(kind=exp.NotNullColumnConstraint(allow_null=allow_null))
