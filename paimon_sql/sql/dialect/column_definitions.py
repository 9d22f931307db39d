"""Parsing of column definitions and data types, in Flink's, Paimon's and Spark's spelling."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.sql.dialect.nodes import MetadataColumn, Verbatim
from paimon_sql.sql.dialect.relations import RelationParser
from paimon_sql.sql.errors import RefusedError
from paimon_sql.sql.types import read_type_text, spark_type, type_text

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
_FLINKS_TIMESTAMP_SIZES = frozenset(f"({n})" for n in range(6))
"""Precisions of TIMESTAMP that only Flink knows; in a statement of Spark's style the others are Spark's."""


class ExactType(exp.DataType):
    """A type of Paimon's: the Spark type that it is read as, and in ``exact`` the exact type (`type_text`).

    ``meta["foreign"]`` is whether Spark does not know the spelling.
    """

    arg_types = {**exp.DataType.arg_types, "exact": True}

    @property
    def paimon(self) -> t.DataType:
        """Paimon's type."""
        return read_type_text(self.args["exact"])


@lru_cache(maxsize=1000)
def _spark_node(text: str) -> exp.DataType:
    return exp.DataType.build(text, dialect=Spark)


_TABLE_CONSTRAINTS = "PRIMARY|UNIQUE|CHECK|FOREIGN"


class ColumnParser(RelationParser):
    """Parses the columns of Paimon's tables.

    Spark does not know ``TIMESTAMP(3)``, ``BYTES``, ``MULTISET<INT>``, ``INT ARRAY``, ``ROW<a INT 'comment'>`` or
    ``ARRAY<INT NOT NULL>``. The node of such a type is the Spark type that it is read as, and holds the exact one.

    Flink and Paimon have syntax that Spark does not know: ``PRIMARY KEY .. NOT ENFORCED`` at a column or as a
    constraint, ``NULL``, ``AS ..`` and ``METADATA`` at a column, and ``WATERMARK FOR ..``. The rest of a definition
    stays text for Spark to parse.

    Attributes:
        spark_timestamps: whether TIMESTAMP alone is an instant, as in Spark, and not a local time, as in Flink.
    """

    spark_timestamps = False
    _foreign = False

    def _parse_types(
        self, check_func: bool = False, schema: bool = False, *args: bool, **kwargs: bool
    ) -> exp.Expr | None:
        start, index = self._curr, self._index
        if schema:
            self._foreign = False
            paimon = self._parse_paimon_type()
            if paimon is not None:
                node = ExactType(**_spark_node(spark_type(paimon)).copy().args, exact=type_text(paimon))
                node.meta["foreign"] = self._foreign
                return self.placed(node, start)
            self._retreat(index)
        return super()._parse_types(check_func, schema, *args, **kwargs)

    def _parse_paimon_type(self) -> t.DataType | None:
        """Parse a type; None if Paimon has no type of that name."""
        start = self._curr
        try:
            is_nested = self.sees("ARRAY|MAP|MULTISET|ROW|STRUCT|VECTOR") and self.sees("<|(", ahead=1)
            found = self._parse_nested_type() if is_nested else self._parse_atomic_type()
        except InvalidSchemaError as error:
            last = self._prev if self._prev.end >= start.start else start
            raise RefusedError(error.message.rstrip("."), start.start, last.end) from None
        while found is not None and (self._match_text_seq("ARRAY") or self._match_text_seq("MULTISET")):
            self._foreign = True
            found = t.ArrayType(True, found) if self._prev.text.upper() == "ARRAY" else t.MultisetType(True, found)
        return found

    def _parse_atomic_type(self) -> t.DataType | None:
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
                self.refuse(f"{name} WITH TIME ZONE is not supported", start, "Write WITH LOCAL TIME ZONE.")
        if word == "TIMESTAMP" and not suffix and self.spark_timestamps:
            if not size:
                return t.LocalZonedTimestampType()
            if size not in _FLINKS_TIMESTAMP_SIZES:
                return None
        self._foreign = self._foreign or bool(
            precise or suffix or name in _FOREIGN or (name in _FOREIGN_WITH_SIZE if size else name in _FOREIGN_ALONE)
        )
        if name == "BINARY" and not size:  # in Spark, bytes of any length and not BINARY(1)
            return t.bytes_type()
        return t.parse_atomic(f"{name}{size}{suffix}")

    def _parse_size(self) -> str:
        if not self._match(TokenType.L_PAREN):
            return ""
        numbers = self._parse_csv(self._parse_number)
        self._match_r_paren()
        return f"({', '.join(n.name for n in numbers)})"

    def _parse_nested_type(self) -> t.DataType | None:
        kind = self._curr.text.upper()
        self._advance()
        closing = ">" if self._curr.text == "<" else ")"
        self._foreign = self._foreign or closing == ")" or kind in ("ROW", "MULTISET", "VECTOR")
        self._advance()
        found: t.DataType | None
        if kind in ("ROW", "STRUCT"):  # the only nested types with NOT NULL in Spark
            fields = self._parse_csv(self._parse_row_field)
            numbered = tuple(replace(f, id=i) for i, f in enumerate(fields) if f is not None)
            found = t.RowType(True, numbered) if numbered and len(numbered) == len(fields) else None
        else:
            inner = self._parse_inner_type()
            if inner is None:
                return None
            if kind == "MAP":
                value = self._parse_inner_type() if self._match(TokenType.COMMA) else None
                found = t.MapType(True, inner, value) if value is not None else None
            elif kind == "VECTOR":
                length = self._parse_number() if self._match(TokenType.COMMA) else None
                found = t.VectorType(True, inner, int(length.name)) if length is not None else None
            else:
                found = t.ArrayType(True, inner) if kind == "ARRAY" else t.MultisetType(True, inner)
        if found is None or self._curr.text != closing:
            return None
        self._advance()
        return found

    def _parse_inner_type(self, is_field: bool = False) -> t.DataType | None:
        """Parse the type of an element, key, value or field, with its nullability."""
        found = self._parse_paimon_type()
        not_null = self._match_text_seq("NOT", "NULL")
        if not_null or self._match_text_seq("NULL"):
            self._foreign = self._foreign or not (not_null and is_field)
        return found.as_nullable(not not_null) if found is not None else None

    def _parse_row_field(self) -> t.DataField | None:
        name = self._parse_id_var(any_token=True)
        self._match(TokenType.COLON)
        found = self._parse_inner_type(is_field=True)
        if name is None or found is None:
            return None
        self._match_text_seq("COMMENT")
        comment = self._parse_string()
        return t.DataField(0, name.name, found, comment.name if comment else None)

    def _parse_constraint(self) -> exp.Expr | None:
        start = self._curr
        if self._match_text_seq("WATERMARK", "FOR"):
            return self._parse_watermark(start)
        if self.sees("CONSTRAINT") and self._next and self.sees(_TABLE_CONSTRAINTS, ahead=2):
            self._advance(2)
        if self._match_text_seq("PRIMARY", "KEY"):
            if not self._match(TokenType.L_PAREN, advance=False):
                remedy = "Write PRIMARY KEY (a, b) NOT ENFORCED."
                self.refuse("PRIMARY KEY needs the names of its columns", start, remedy)
            keys = self._parse_wrapped_id_vars()
            self._parse_enforcement(start)
            return self.placed(exp.PrimaryKey(expressions=keys), start)
        if self._prev is not start and self.sees(_TABLE_CONSTRAINTS) and self.sees("(|KEY", ahead=1):
            while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
                self.step()
            return self._as_written(start)
        return None

    def _parse_field_def(self) -> exp.Expr | None:
        start = self._curr
        name = self._parse_id_var(any_token=True)
        if name is None:
            self.refuse("Expected the name of a column", start)
        kind = None if self.sees("AS") else self._parse_types(schema=True)
        constraints: list[exp.Expr] = []
        position = None
        while self._curr and not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            here = self._curr
            if self._match_text_seq("PRIMARY", "KEY"):
                self._parse_enforcement(here)
                key = exp.ColumnConstraint(kind=exp.PrimaryKeyColumnConstraint())
                constraints.append(self.placed(key, here))
            elif self._match_text_seq("NOT", "NULL") or self._match_text_seq("NULL"):
                nullability = exp.NotNullColumnConstraint(allow_null=here.text.upper() == "NULL")
                constraints.append(self.placed(exp.ColumnConstraint(kind=nullability), here))
            elif self._match_text_seq("COMMENT"):
                comment = exp.CommentColumnConstraint(this=self._parse_string())
                constraints.append(exp.ColumnConstraint(kind=comment))
            elif self._match_text_seq("FIRST") or self._match_text_seq("AFTER"):
                where = self._prev.text.upper()
                after = self._parse_id_var(any_token=True) if where == "AFTER" else None
                position = exp.ColumnPosition(this=after, position=where)
            elif self._match_text_seq("DEFAULT"):
                self._skip_default()
                constraints.append(self._as_written(here))
            elif self._match_text_seq("METADATA"):
                source = self._parse_string() if self._match_text_seq("FROM") else None
                metadata = MetadataColumn(this=source, virtual=bool(self._match_text_seq("VIRTUAL")))
                constraints.append(self.placed(exp.ColumnConstraint(kind=metadata), here))
            elif self._match_text_seq("AS"):
                value = self._parse_disjunction()
                if value is None:
                    self.refuse("A computed column needs an expression", here)
                computed = exp.ColumnConstraint(kind=exp.ComputedColumnConstraint(this=value))
                constraints.append(self.placed(computed, here))
            else:
                if self._match_text_seq("GENERATED"):
                    self._match_texts(("ALWAYS", "BY"))
                    self._match_text_seq("DEFAULT")
                    self._match_text_seq("AS")
                self.step()
                constraints.append(self._as_written(here))
        return self.placed(exp.ColumnDef(this=name, kind=kind, constraints=constraints, position=position), start)

    def _parse_watermark(self, start: Token) -> exp.WatermarkColumnConstraint:
        column = self.parts()
        value = self._parse_disjunction() if column is not None and self._match_text_seq("AS") else None
        if value is None:
            self.refuse(
                "WATERMARK needs a column and an expression", start, "Write WATERMARK FOR column AS expression."
            )
        return self.placed(exp.WatermarkColumnConstraint(this=column, expression=value), start)

    def _as_written(self, start: Token) -> Verbatim:
        """The tokens from ``start`` up to here as text."""
        return self.placed(Verbatim(this=self.sql[start.start : self._prev.end + 1]), start)

    def _parse_enforcement(self, start: Token) -> None:
        if self._match_text_seq("ENFORCED"):
            self.refuse("A primary key cannot be ENFORCED", start, "Write NOT ENFORCED: writes merge rows of one key.")
        self._match_text_seq("NOT", "ENFORCED")
        if not self._match_text_seq("RELY"):
            self._match_text_seq("NORELY")

    def _skip_default(self) -> None:
        """Move past a default value, whose NULL is not a constraint."""
        self.step()
        while self._curr and not self.sees(",|)|NOT|NULL|COMMENT|PRIMARY|FIRST|AFTER"):
            self.step()
