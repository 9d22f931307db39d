"""CREATE TABLE as Flink and Paimon write it, made Spark's by small edits; CREATE TABLE .. LIKE as a statement of ours.

The result is Spark's CREATE TABLE with ``TBLPROPERTIES``: the primary key as ``'primary-key' = 'a,b'``, the options of
``WITH (..)`` as they are, ``'partition' = 'dt'`` as ``PARTITIONED BY``, and the exact types of columns that Spark
cannot declare under ``types.TYPE_PROPERTY``.

A table of plain files, as USING names it, gets the option ``'type' = 'format-table'``.

TIMESTAMP alone means Flink's (a wall-clock time) in a statement with Flink's marks (``WITH (..)``, PRIMARY KEY, a type
of Flink's), and Spark's in one that says USING, TBLPROPERTIES or OPTIONS and not ``WITH (..)``. ``TIMESTAMP(3)``, which
Spark does not know, is Flink's in every statement.
"""

from __future__ import annotations

from paimon_sql.sql.columns import Column, Key, read_columns, without_elements
from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.definition import Definition, read_definition, read_options
from paimon_sql.sql.edits import Edit, clause
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.properties import Property
from paimon_sql.sql.scan import quote_name, string_sql
from paimon_sql.sql.statements import CreateTableLike
from paimon_sql.sql.types import TYPE_PROPERTY, type_text

_MARKS = frozenset(["PRIMARY", "WATERMARK", "METADATA"])
_SUSPECTS = _MARKS | {
    *("BYTES", "VARBINARY", "BINARY", "BLOB", "CHAR", "VARCHAR", "TIMESTAMP", "TIMESTAMP_LTZ", "PRECISION", "ZONE"),
    *("MULTISET", "ROW", "VECTOR", "ARRAY", "NULL"),
}
"""Words among the columns that may be Flink's; what they are is seen when the columns are read."""
_PAIMON = "PAIMON"
_FILES = frozenset(["CSV", "JSON", "ORC", "PARQUET", "TEXT"])
"""What stands behind USING for a table of plain files."""


def create_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """What a CREATE or REPLACE TABLE at the cursor becomes; None where it is Spark's as it stands."""
    replaces = cursor.accept("REPLACE") or cursor.accept("CREATE", "OR", "REPLACE") or not cursor.accept("CREATE")
    while cursor.accept("TEMPORARY|TEMP|EXTERNAL"):
        pass
    if not cursor.accept("TABLE"):
        return None
    tolerant = cursor.accept("IF", "NOT", "EXISTS")
    table = context.to_be(cursor.names())
    if table is None:
        return None
    words = _words_of_columns(cursor)
    definition = read_definition(cursor)
    is_shared = table[0] in context.shared_catalogs
    if cursor.sees("LIKE") and not replaces:
        if is_shared and not _is_like_paimons(cursor.fork(), context):
            return None
        return _like(cursor, context, table, definition, tolerant)
    if is_shared and (definition.provider or context.default_provider.upper()) != _PAIMON:
        return None
    kind = _kind_of_files(definition)
    if definition.options is None and words.isdisjoint(_SUSPECTS) and not kind:
        return None
    try:
        return _edits(cursor.source.text, definition, kind) or None
    except SqlSyntaxError:
        if definition.options is None and words.isdisjoint(_MARKS):
            return None  # only suspected, so it is for Spark to judge
        raise


def _words_of_columns(cursor: Cursor) -> set[str]:
    inside = cursor.fork().group() if cursor.sees("(") else None
    return {t.word for t in cursor.source.tokens[inside.position : inside.end]} if inside else set()


def _kind_of_files(definition: Definition) -> list[str]:
    """The property that USING parquet stands for, which no longer tells when it comes to be Spark's own default."""
    is_said = any(p.key == "type" for p in definition.given)
    return [_property_sql("type", "format-table")] if definition.provider in _FILES and not is_said else []


def _edits(text: str, definition: Definition, kind: list[str]) -> list[Edit]:
    edits: list[Edit] = []
    additions: list[str] = []
    key = None
    if definition.columns is not None:
        columns, keys, spans = read_columns(text, definition.columns, spark_timestamps=definition.is_spark_style)
        if definition.options is None and not keys and not any(c.foreign or c.is_key for c in columns):
            return _property_edits(text, definition, kind)
        key = _primary_key(text, columns, keys)
        if columns:
            edits += without_elements(spans, [k.span for k in keys])
            edits += [edit for column in columns for edit in column.edits]
        else:  # CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) AS SELECT ..
            edits.append(Edit(*definition.columns, ""))
        spark_says = definition.is_spark_style  # and so the spellings that Spark knows mean what they mean in Spark
        additions = [
            _property_sql(TYPE_PROPERTY + column.name, type_text(column.type))
            for column in columns
            if column.type is not None and not column.is_exact and (column.foreign or not spark_says)
        ]
    if key is not None:
        _refuse_both(text, definition.given, "primary-key", "The primary key is said twice, as a constraint and here.")
        additions.insert(0, _property_sql("primary-key", key))
    return edits + _property_edits(text, definition, additions + kind)


def _property_sql(key: str, value: str) -> str:
    return f"{string_sql(key)} = {string_sql(value)}"


def _primary_key(text: str, columns: list[Column], keys: list[Key]) -> str | None:
    """The names of the key's columns, separated by commas."""
    said = [(k.names, k.span) for k in keys] + [((c.name,), c.span) for c in columns if c.is_key]
    if not said:
        return None
    names, span = said[-1]
    if len(said) > 1:
        remedy = "Name all its columns in one PRIMARY KEY (a, b) NOT ENFORCED."
        raise SqlSyntaxError("A table has one primary key.", text=text, start=span.start, end=span.end, remedy=remedy)
    if any("," in name for name in names):
        raise SqlSyntaxError("The name of a key's column holds a comma.", text=text, start=span.start, end=span.end)
    return ",".join(names)


def _refuse_both(text: str, given: list[Property], key: str, problem: str) -> None:
    said = next((p for p in given if p.key == key), None)
    if said is not None:
        raise SqlSyntaxError(problem, text=text, start=said.first.start, end=said.last.end)


def _property_edits(text: str, definition: Definition, additions: list[str]) -> list[Edit]:
    """Put the options of WITH and the additions into one TBLPROPERTIES clause."""
    if definition.options is None:
        if definition.properties is not None:
            return _appended(definition.properties, additions)
        properties = f"TBLPROPERTIES ({', '.join(additions)})"
        return [clause(text, definition.end, definition.end, properties)] if additions else []
    options, span = definition.options
    partition = [p for p in options if p.key == "partition"]
    if definition.is_partitioned:
        _refuse_both(text, partition, "partition", "The partitions are said twice, in PARTITIONED BY and here.")
    if options and not partition and definition.properties is None:
        word = Edit(span.start, span.start + len("WITH"), "TBLPROPERTIES")
        return [word, *_appended((options, span.end - 1), additions)]
    columns = [quote_name(name.strip()) for p in partition for name in p.value.split(",") if name.strip()]
    clauses = [f"PARTITIONED BY ({', '.join(columns)})"] if columns else []
    merged = [p.sql for p in options if p not in partition] + additions
    if definition.properties is not None:
        return [clause(text, *span, " ".join(clauses)), *_appended(definition.properties, merged)]
    if merged:
        clauses.append(f"TBLPROPERTIES ({', '.join(merged)})")
    return [clause(text, *span, " ".join(clauses))]


def _appended(properties: tuple[list[Property], int], additions: list[str]) -> list[Edit]:
    """Add to a list of properties, before the bracket that closes it."""
    there, end = properties
    return [Edit(end, end, (", " if there else "") + ", ".join(additions))] if additions else []


def _is_like_paimons(cursor: Cursor, context: RewriteContext) -> bool:
    """Whether a table of a shared catalog LIKE another is to be one of Paimon's: USING says so, or the other is one."""
    cursor.next()
    at = cursor.peek()
    source = context.table(cursor.names())
    provider = ".".join(cursor.names() or ()) if cursor.seek(("USING",)) and cursor.accept("USING") else None
    if provider is not None and provider.upper() == _PAIMON and source is None:
        remedy = "Use CREATE TABLE .. USING paimon AS SELECT .. WHERE false."
        raise cursor.error("A table of Paimon's cannot be LIKE one that is none.", at, remedy=remedy)
    return source is not None and (provider or _PAIMON).upper() == _PAIMON


def _like(
    cursor: Cursor, context: RewriteContext, table: TableName, definition: Definition, tolerant: bool
) -> Outcome | None:
    """``CREATE TABLE a [WITH (..)] LIKE b [WITH (..)] [(EXCLUDING OPTIONS ..)]``, done by us for every Spark."""
    if definition.columns is not None:
        remedy = "Add them with ALTER TABLE."
        raise cursor.error("A table LIKE another takes no columns of its own.", remedy=remedy)
    cursor.next()
    source = cursor.names()
    if source is None:
        return None
    options = {p.key: p.value for p in definition.given}
    provider = location = None
    features: list[str] = []
    while not cursor.done:
        if cursor.sees("WITH|TBLPROPERTIES", "("):
            cursor.next()
            options |= {p.key: p.value for p in read_options(cursor)}
        elif cursor.accept("USING"):
            provider = ".".join(cursor.names() or ())
        elif cursor.accept("LOCATION"):
            location = cursor.string()
        elif cursor.sees("(", "EXCLUDING|INCLUDING|OVERWRITING") and (inside := cursor.group()):
            while not inside.done:
                features.append(f"{inside.next().word} {inside.next().word}")
        else:
            raise cursor.error("This cannot stand behind CREATE TABLE .. LIKE.", remedy="Give options as WITH (..).")
    like = CreateTableLike(table, context.full_name(source), tolerant, options, tuple(features), provider, location)
    return Carried(like)
