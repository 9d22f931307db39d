"""SQL of SQLAlchemy's statements and definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sqlalchemy import exc
from sqlalchemy.schema import (
    CheckConstraint,
    Column,
    DropColumnComment,
    ForeignKeyConstraint,
    PrimaryKeyConstraint,
    SetColumnComment,
    Table,
    UniqueConstraint,
)
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer, SQLCompiler
from sqlalchemy.sql.elements import BinaryExpression
from sqlalchemy.sql.selectable import GenerativeSelect
from sqlalchemy.sql.sqltypes import String

from paimon_sql.sqlalchemy.literals import literal
from paimon_sql.sqlalchemy.names import read_schema
from paimon_sql.sqlalchemy.type_compiler import SqlType

OPTIONS, PARTITIONED_BY, USING = "options", "partitioned_by", "using"
"""Arguments of ``Table``, with the prefix ``paimon_``."""


class PaimonPreparer(IdentifierPreparer):
    """All names are in back-quotes, so that none is a keyword."""

    def __init__(self, dialect: object, **kw: object) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **kw)  # type: ignore[arg-type]

    def _requires_quotes(self, value: str) -> bool:
        return True

    def quote_schema(self, schema: str, force: object = None) -> str:
        return ".".join(self.quote(name) for name in read_schema(schema) if name is not None)

    def format_schema(self, name: str) -> str:
        return self.quote_schema(name)


class PaimonCompiler(SQLCompiler):
    """Queries and statements of rows."""

    def render_literal_value(self, value: object, type_: SqlType, **kw: object) -> str:
        """A literal is what a parameter of this value becomes."""
        process = type_._cached_bind_processor(self.dialect)
        text = literal(process(value) if process is not None else value)
        return text.replace("%", "%%") if self.preparer._double_percents else text

    def limit_clause(self, select: GenerativeSelect, **kw: object) -> str:
        limit, offset = select._limit_clause, select._offset_clause
        text = "" if limit is None else f"\n LIMIT {self.process(limit, **kw)}"
        return text if offset is None else f"{text}\n OFFSET {self.process(offset, **kw)}"

    def for_update_clause(self, select: GenerativeSelect, **kw: object) -> str:
        return ""  # a query reads a snapshot, and locks nothing

    def visit_empty_set_expr(self, element_types: Sequence[SqlType], **kw: object) -> str:
        return f"SELECT {', '.join(['NULL'] * max(1, len(element_types)))} WHERE 1 != 1"

    def visit_regexp_match_op_binary(self, binary: BinaryExpression[bool], operator: object, **kw: object) -> str:
        return self._regular_expression(binary, "RLIKE", **kw)

    def visit_not_regexp_match_op_binary(self, binary: BinaryExpression[bool], operator: object, **kw: object) -> str:
        return self._regular_expression(binary, "NOT RLIKE", **kw)

    def visit_regexp_replace_op_binary(self, binary: BinaryExpression[str], operator: object, **kw: object) -> str:
        _without_flags(binary)
        return f"regexp_replace({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def _regular_expression(self, binary: BinaryExpression[bool], word: str, **kw: object) -> str:
        _without_flags(binary)
        return f"{self.process(binary.left, **kw)} {word} {self.process(binary.right, **kw)}"


def _without_flags(binary: BinaryExpression[str] | BinaryExpression[bool]) -> None:
    if binary.modifiers.get("flags") is not None:
        raise exc.CompileError("Spark has no flags beside a regular expression. Write them in it, such as (?i).")


class PaimonDDLCompiler(DDLCompiler):
    """Definitions of tables.

    Keys are those of Paimon, which are not enforced but decide which rows replace others. Foreign keys serve
    SQLAlchemy's relations, and indexes nothing: neither is created.
    """

    def get_column_specification(self, column: Column[object], **kw: object) -> str:
        text = super().get_column_specification(column, **kw)
        return text if column.comment is None else f"{text} COMMENT {self._string(column.comment)}"

    def post_create_table(self, table: Table) -> str:
        given = table.dialect_options["paimon"]
        options = cast("Mapping[str, object]", given[OPTIONS] or {})
        partitions = cast("Sequence[str]", given[PARTITIONED_BY] or ())
        # Only Paimon's tables have keys. With USING, types have Spark's meaning beside a key, too.
        using = given[USING] or ("paimon" if table.primary_key.columns else None)
        clauses = [f"USING {using}"] if using else []
        if partitions:
            clauses.append(f"PARTITIONED BY ({', '.join(map(self.preparer.quote, partitions))})")
        if table.comment is not None:
            clauses.append(f"COMMENT {self._string(table.comment)}")
        if options:
            pairs = (f"{self._string(key)} = {self._string(_option_text(value))}" for key, value in options.items())
            clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
        return "".join(f"\n{clause}" for clause in clauses)

    def visit_primary_key_constraint(self, constraint: PrimaryKeyConstraint, **kw: object) -> str:
        if not constraint.columns:
            return ""
        names = (self.preparer.quote(column.name) for column in constraint.columns)
        return f"PRIMARY KEY ({', '.join(names)}) NOT ENFORCED"

    def visit_foreign_key_constraint(  # type: ignore[override]
        self, constraint: ForeignKeyConstraint, **kw: object
    ) -> None:
        return None

    def visit_unique_constraint(self, constraint: UniqueConstraint, **kw: object) -> str:
        raise exc.CompileError("Paimon has no UNIQUE constraint. A primary key makes its columns unique.")

    def visit_check_constraint(self, constraint: CheckConstraint, **kw: object) -> str:
        raise exc.CompileError("Paimon has no CHECK constraint.")

    visit_column_check_constraint = visit_check_constraint

    def visit_create_index(
        self, create: object, include_schema: bool = False, include_table_schema: bool = True, **kw: object
    ) -> str:
        return ""

    def visit_drop_index(self, drop: object, **kw: object) -> str:
        return ""

    def visit_set_column_comment(self, create: SetColumnComment, **kw: object) -> str:
        return self._column_comment(create.element, create.element.comment or "")

    def visit_drop_column_comment(self, drop: DropColumnComment, **kw: object) -> str:
        return self._column_comment(drop.element, "")

    def _column_comment(self, column: Column[object], comment: str) -> str:
        table, name = self.preparer.format_table(column.table), self.preparer.format_column(column)
        return f"ALTER TABLE {table} ALTER COLUMN {name} COMMENT {self._string(comment)}"

    def _string(self, value: str) -> str:
        return self.sql_compiler.render_literal_value(value, String())


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
