"""CREATE TABLE as Flink and Paimon write it, made Spark's by small edits; CREATE TABLE .. LIKE as a statement of ours.

The result is Spark's CREATE TABLE with ``TBLPROPERTIES``: the primary key as ``'primary-key' = 'a,b'``, options of
``WITH (..)`` as they are, ``'partition' = 'dt'`` as ``PARTITIONED BY``, and the exact types of columns that Spark
cannot declare under ``types.TYPE_PROPERTY``.

TIMESTAMP without more means Flink's (a wall-clock time) in a statement with Flink's marks (``WITH (..)``, PRIMARY KEY,
a type of Flink's), and Spark's in one that says USING, TBLPROPERTIES or OPTIONS.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.sql.columns import Column, Key, Span, read_columns, without_elements
from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit, clause
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.properties import Property, read_properties
from paimon_sql.sql.scan import quote_name, string_sql
from paimon_sql.sql.statements import CreateTableLike
from paimon_sql.sql.types import TYPE_PROPERTY, type_text

_SUSPECTS = frozenset(
    "BYTES VARBINARY BLOB MULTISET ROW VECTOR PRECISION ZONE METADATA WATERMARK PRIMARY NULL AS TIMESTAMP TIMESTAMP_LTZ"
    " BINARY CHAR VARCHAR ARRAY".split()
)
_QUERY_STARTS = ("AS|SELECT|FROM|VALUES|TABLE|MAP|REDUCE|(",)


@dataclass
class _Definition:
    """What stands behind the table's name."""

    columns: Span | None = None
    with_options: list[Property] | None = None
    with_span: Span | None = None
    table_properties: list[Property] | None = None
    properties_end: int = 0
    spark_marks: bool = False
    partitioned: bool = False
    end: int = 0


def create_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """What a CREATE or REPLACE TABLE at the cursor becomes; None where it is Spark's as it stands."""
    is_create = cursor.accept("CREATE")
    replaces = cursor.accept("OR", "REPLACE") if is_create else cursor.accept("REPLACE")
    while cursor.accept("TEMPORARY|TEMP|EXTERNAL"):
        pass
    if not cursor.accept("TABLE"):
        return None
    exists_ok = cursor.accept("IF", "NOT", "EXISTS")
    table = context.table(cursor.names())
    if table is None:
        return None
    suspicious = _has_suspects(cursor)
    definition = _read(cursor)
    if cursor.sees("LIKE") and not replaces:
        return _like(cursor, context, table, definition, exists_ok)
    if definition.with_options is None and not suspicious:
        return None
    edits = _edits(cursor, definition)
    return edits or None


def _has_suspects(cursor: Cursor) -> bool:
    inside = cursor.fork().group() if cursor.sees("(") else None
    return inside is not None and any(t.word in _SUSPECTS for t in inside.source.tokens[inside.position : inside.end])


def _read(cursor: Cursor) -> _Definition:
    """Read the columns' place and the clauses, and go to where the query begins, to LIKE, or to the end."""
    found = _Definition(end=cursor.peek(-1).end)
    if cursor.sees("(") and not cursor.sees("(", "SELECT|WITH|FROM|VALUES|TABLE|("):
        start = cursor.peek().start
        if cursor.group() is None:
            return found
        found.columns = Span(start, cursor.peek(-1).end)
        found.end = found.columns.end
    while not cursor.done and not cursor.sees("LIKE"):
        start = cursor.peek().start
        if cursor.sees("WITH", "(") and found.with_options is None:
            cursor.next()
            found.with_options = _options(cursor)
            found.with_span = Span(start, cursor.peek(-1).end)
        elif cursor.sees("TBLPROPERTIES", "(") and found.table_properties is None:
            cursor.next()
            found.table_properties = _options(cursor)
            found.properties_end = cursor.peek(-1).start
            found.spark_marks = True
        elif cursor.sees("WITH") and cursor.peek(1).word != "SERDEPROPERTIES":
            break
        elif cursor.sees("STORED|CLUSTERED", "AS|BY") or cursor.sees("PARTITIONED", "BY"):
            found.partitioned = found.partitioned or cursor.sees("PARTITIONED")
            cursor.position += 2
            cursor.skip()
        elif cursor.sees("CLUSTER|SORTED|SKEWED", "BY", "(") or cursor.sees("OPTIONS|SERDEPROPERTIES", "("):
            found.spark_marks = found.spark_marks or cursor.sees("OPTIONS")
            while not cursor.sees("("):
                cursor.next()
            cursor.skip()
        elif cursor.sees(*_QUERY_STARTS):
            break
        else:
            found.spark_marks = found.spark_marks or cursor.sees("USING")
            cursor.skip()
        found.end = cursor.peek(-1).end
    return found


def _options(cursor: Cursor) -> list[Property]:
    inside = cursor.group()
    if inside is None:
        raise cursor.error("The bracket of the options never closes.")
    return read_properties(inside)


# -- the edits ------------------------------------------------------------------------------------------------------------


def _edits(cursor: Cursor, definition: _Definition) -> list[Edit]:
    text = cursor.source.text
    columns: list[Column] = []
    keys: list[Key] = []
    edits: list[Edit] = []
    if definition.columns is not None:
        spark_style = definition.spark_marks and definition.with_options is None
        columns, keys, spans = read_columns(text, definition.columns, spark_timestamps=spark_style)
        ours = definition.with_options is not None or keys or any(c.foreign or c.is_key for c in columns)
        if not ours:
            return []
        exact_only = [c for c in columns if spark_style and not c.foreign]
        edits += [edit for c in columns for edit in c.edits]
        if len(keys) == len(spans):
            edits = [Edit(definition.columns.start, definition.columns.end, "")]
        else:
            edits += without_elements(spans, [k.span for k in keys])
        additions = [
            (TYPE_PROPERTY + c.name, type_text(c.type))
            for c in columns
            if c.type is not None and not c.is_exact and c not in exact_only
        ]
    else:
        additions = []
    given = (definition.with_options or []) + (definition.table_properties or [])
    if (key := _primary_key(text, columns, keys)) is not None:
        if said := next((p for p in given if p.key == "primary-key"), None):
            raise cursor.error("The primary key is said twice, as a constraint and as an option.", said.first)
        additions.insert(0, ("primary-key", key))
    return edits + _property_edits(cursor, definition, [f"{string_sql(k)} = {string_sql(v)}" for k, v in additions])


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


def _property_edits(cursor: Cursor, definition: _Definition, additions: list[str]) -> list[Edit]:
    """Put the WITH clause's options and the additions into one TBLPROPERTIES clause."""
    text = cursor.source.text
    options = definition.with_options or []
    partition = next((p for p in options if p.key == "partition"), None)
    before = ""
    if partition is not None:
        if definition.partitioned:
            raise cursor.error("The partitions are said twice, in PARTITIONED BY and as an option.", partition.first)
        names = [quote_name(n.strip()) for n in partition.value.split(",") if n.strip()]
        before = f"PARTITIONED BY ({', '.join(names)}) " if names else ""
        options = [p for p in options if p is not partition]
    if definition.table_properties is not None:
        merged = [p.sql for p in options] + additions
        at = definition.properties_end
        lead = ", " if definition.table_properties else ""
        edits = [Edit(at, at, lead + ", ".join(merged))] if merged else []
        if definition.with_span is not None:
            edits.append(clause(text, *definition.with_span, before.strip()))
        return edits
    if definition.with_span is None:
        return [clause(text, definition.end, definition.end, f"TBLPROPERTIES ({', '.join(additions)})")] if additions else []
    if partition is None and options:
        start, end = definition.with_span
        lead = [Edit(end - 1, end - 1, ", " + ", ".join(additions))] if additions else []
        return [Edit(start, start + len("WITH"), "TBLPROPERTIES"), *lead]
    merged = [p.sql for p in options] + additions
    after = f"TBLPROPERTIES ({', '.join(merged)})" if merged else ""
    return [clause(text, *definition.with_span, (before + after).strip())]


# -- LIKE -----------------------------------------------------------------------------------------------------------------


def _like(
    cursor: Cursor, context: RewriteContext, table: TableName, definition: _Definition, exists_ok: bool
) -> Outcome | None:
    """CREATE TABLE a LIKE b, which Spark 4.1 cannot do in a catalog of ours."""
    if definition.columns is not None:
        raise cursor.error("A table made LIKE another takes no columns of its own.", remedy="Add them with ALTER TABLE.")
    cursor.next()
    source = cursor.names()
    if source is None:
        return None
    options = {p.key: p.value for p in (definition.with_options or []) + (definition.table_properties or [])}
    provider = location = None
    features: list[str] = []
    while not cursor.done:
        if cursor.sees("WITH|TBLPROPERTIES", "("):
            cursor.next()
            options |= {p.key: p.value for p in _options(cursor)}
        elif cursor.accept("USING"):
            provider = ".".join(cursor.names() or ())
        elif cursor.accept("LOCATION"):
            location = cursor.string()
        elif cursor.sees("(", "EXCLUDING|INCLUDING|OVERWRITING") and (inside := cursor.group()):
            features += _features(inside)
        else:
            raise cursor.error("This cannot stand behind CREATE TABLE .. LIKE.", remedy="Give options as WITH (..).")
    return Carried(
        CreateTableLike(table, context.full_name(source), exists_ok, options, tuple(features), provider, location)
    )


def _features(inside: Cursor) -> list[str]:
    words = [inside.next().word for _ in range(inside.end - inside.position)]
    return [f"{first} {second}" for first, second in zip(words[::2], words[1::2], strict=False)]
