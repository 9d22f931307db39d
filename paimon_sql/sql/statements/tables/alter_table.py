"""ALTER TABLE in Flink's form: SET and RESET of options, ADD, MODIFY, RENAME and DROP of columns."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp
from sqlglot.generator import Generator

from paimon_sql.sql.carried_statements import Node, OfTable
from paimon_sql.sql.context import Reading
from paimon_sql.sql.dialect.generator import writes
from paimon_sql.sql.dialect.nodes import MetadataColumn
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.errors import RefusedError
from paimon_sql.sql.statements.base import Carried, Outcome, rewrites
from paimon_sql.sql.statements.tables.columns import Column, columns_of
from paimon_sql.sql.types import type_text

_OPTIONS, _COLUMNS = "TBLPROPERTIES", "COLUMN|COLUMNS"
_VERBS = {
    **dict.fromkeys(("SET", "RESET", "UNSET"), _OPTIONS),
    **dict.fromkeys(("ADD", "MODIFY", "RENAME", "DROP"), _COLUMNS),
}
"""The keyword that Spark has after each verb."""
_NOT_A_COLUMN = "COLUMN|COLUMNS|CONSTRAINT|PARTITION|IF|TO|TAG|BRANCH|CHECK|UNIQUE|FOREIGN"
_KEY = "The primary key of a table cannot change"


class AlterTable(exp.Alter):
    """A change in Flink's form: ``verb`` is SET, RESET, ADD, MODIFY, RENAME or DROP; columns or text follow it."""

    arg_types = {**exp.Alter.arg_types, "verb": True, "columns": False, "rest": False}


class ColumnChange(Node):
    """A column to add, or to replace the one of its name.

    ``type`` is a text of ``types.type_text`` with the nullability. Without ``position``, a new column is the last one
    and an existing one keeps its position.
    """

    name: str
    type: str
    comment: str | None = None
    position: Literal["FIRST", "AFTER"] | None = None
    after: str | None = None


class AddColumns(OfTable):
    """ALTER TABLE .. ADD (..) in one change of the schema, for types that Spark cannot declare."""

    columns: tuple[ColumnChange, ...]


class ModifyColumns(OfTable):
    """ALTER TABLE .. MODIFY: the columns are from now on as they are written, in one change of the schema."""

    columns: tuple[ColumnChange, ...]


@reads("ALTER", "TABLE")
def read_alter_table(parser: PaimonParser) -> AlterTable | None:
    """Parse ALTER TABLE in Flink's form; deep parsing makes the same tree of Spark's form."""
    parser.accept("ALTER", "TABLE")
    table, verb, word = parser.table_name(), parser.token, parser.word()
    if table is None or word not in _VERBS:
        return None
    parser.step()
    has_sparks_word = not parser.shallow and parser.accept(_VERBS[word])
    wrapped = parser.sees("(")
    is_column = parser.is_name() and (has_sparks_word or not parser.sees(_NOT_A_COLUMN))
    alteration = AlterTable(this=table, kind="TABLE", verb="RESET" if word == "UNSET" else word)
    alteration.meta.update(verb=(verb.start, verb.end + 1), wrapped=wrapped)
    try:
        if word == "DROP" and parser.sees("PRIMARY", "KEY"):
            raise parser.refusal(_KEY)
        if word == "MODIFY" or (word == "ADD" and (is_column or wrapped)):
            alteration.set("columns", _columns(parser))
            return alteration
    except RefusedError as error:
        error.about = table
        raise
    options = wrapped and (word in ("SET", "RESET") or has_sparks_word)
    if not options and not (word == "DROP" and (is_column or wrapped)) and not (word == "RENAME" and is_column):
        return None
    alteration.set("rest", parser.rest())
    return alteration


@writes(AlterTable)
def alter_table_sql(generator: Generator, node: exp.Expr) -> str:
    """Generate Flink's form."""
    schema = node.args.get("columns")
    columns = [generator.sql(each) for each in schema.expressions] if schema else [generator.sql(node, "rest")]
    rest = columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
    return f"ALTER TABLE {generator.sql(node.this)} {node.text('verb')} {rest}"


def _columns(parser: PaimonParser) -> exp.Schema:
    """Parse the column definitions, in brackets or a single one, up to the end of the statement."""
    first, wrapped = parser.token, parser.sees("(")
    schema = parser.schema(exp.Table()) if wrapped else exp.Schema(expressions=[parser.column()])
    if parser.token:
        raise parser.refusal("Expected the end of the statement after the columns")
    if schema.find(exp.PrimaryKey, exp.PrimaryKeyColumnConstraint):
        raise parser.refusal(_KEY, first)
    if (mark := schema.find(exp.WatermarkColumnConstraint)) is not None:
        remedy = "Leave it out; Spark sets it with withWatermark."
        raise parser.refusal_of(mark, "WATERMARK cannot be added to a table", remedy)
    if (unstored := schema.find(exp.ComputedColumnConstraint, MetadataColumn)) is not None:
        kind = "METADATA" if isinstance(unstored, MetadataColumn) else "Computed"
        at = unstored.parent or schema
        raise parser.refusal_of(at, f"{kind} columns cannot be added to a table", "Compute it in a view.")
    if not schema.expressions or not all(isinstance(e, exp.ColumnDef) for e in schema.expressions):
        raise parser.refusal("Only columns can be added or modified here", first)
    schema.set("this", None)
    return schema


@rewrites(AlterTable)
def alter_table(node: AlterTable, reading: Reading) -> Outcome | None:
    """Rewrite to Spark's form, or carry the statement if Spark cannot declare its columns."""
    table = reading.table(node.this)
    if table is None:
        return None
    start, end = node.meta["verb"]
    verb, schema = node.text("verb"), node.args.get("columns")
    if verb == "SET":
        return [Edit(end, end, " TBLPROPERTIES")]
    if verb == "RESET":
        return [Edit(start, end, "UNSET TBLPROPERTIES")]
    word = Edit(end, end, " COLUMNS" if node.meta["wrapped"] else " COLUMN")
    if schema is None:
        return [word]
    columns = columns_of(schema, reading.source, False)
    if verb == "ADD" and all(c.is_exact for c in columns):
        return [word, *(edit for column in columns for edit in column.edits)]
    changes = tuple(_change(column, reading) for column in columns)
    return Carried(AddColumns(table, changes) if verb == "ADD" else ModifyColumns(table, changes))


def _change(column: Column, reading: Reading) -> ColumnChange:
    if column.type is None:
        kinds = (column.node.args.get("kind"), *column.node.constraints)
        at = next((kind for kind in kinds if kind is not None and "start" in kind.meta), column.node)
        raise reading.error(f"The type of column '{column.name}' is not supported.", at)
    place = column.node.args.get("position")
    position, after = (place.args["position"], place.name or None) if place else (None, None)
    return ColumnChange(column.name, type_text(column.type), column.comment, position, after)
