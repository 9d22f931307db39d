"""CREATE TABLE as Flink and Paimon write it, made Spark's by small edits.

The result is Spark's CREATE TABLE with ``TBLPROPERTIES``: the primary key as ``'primary-key' = 'a,b'``, the options of
``WITH (..)`` as they are, ``'partition' = 'dt'`` as ``PARTITIONED BY``, and the exact types of columns that Spark
cannot declare under ``types.TYPE_PROPERTY``.

A table of plain files, as USING names it, gets the option ``'type' = 'format-table'``.

TIMESTAMP alone means Flink's (a wall-clock time) in a statement with Flink's marks (``WITH (..)``, PRIMARY KEY, a type
of Flink's), and Spark's in one that says USING, TBLPROPERTIES or OPTIONS and not ``WITH (..)``. ``TIMESTAMP(3)``, which
Spark does not know, is Flink's in every statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.generator import Generator

from paimon_sql.sql.dialect.errors import PlacedError, RefusedError
from paimon_sql.sql.dialect.nodes import Span, Verbatim, span
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.dialect.registry import reads, writes
from paimon_sql.sql.edits import Edit, clause
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.names import quote_name, string_sql
from paimon_sql.sql.outcome import Outcome, rewrites
from paimon_sql.sql.reading import Reading, names_of
from paimon_sql.sql.statements.columns import Column, columns_of, keys_of, without_elements
from paimon_sql.sql.types import TYPE_PROPERTY, type_text

_QUERY = "AS|SELECT|FROM|VALUES|TABLE|MAP|REDUCE|("
_MARKS = frozenset(["PRIMARY", "WATERMARK", "METADATA"])
_SUSPECTS = _MARKS | {
    *("BYTES", "VARBINARY", "BINARY", "BLOB", "CHAR", "VARCHAR", "TIMESTAMP", "TIMESTAMP_LTZ", "PRECISION", "ZONE"),
    *("MULTISET", "ROW", "VECTOR", "ARRAY", "NULL"),
}
"""Words among the columns that may be Flink's; what they are is seen when the columns are read."""
_PAIMON = "PAIMON"
_FILES = frozenset(["CSV", "JSON", "ORC", "PARQUET", "TEXT"])
"""What stands behind USING for a table of plain files."""


class Clause(exp.Property):
    """A clause of a table's definition: the word ``this`` and what stands behind it, ``value``."""


class CreateTable(exp.Create):
    """CREATE or REPLACE TABLE; read shallowly, its ``properties`` are `Clause` nodes."""

    def clause(self, *words: str) -> exp.Expr | None:
        """What stands behind the first of the clauses with one of these words; None where there is none."""
        clauses = self.args["properties"].expressions
        return next((c.args["value"] for c in clauses if isinstance(c, Clause) and c.name in words), None)

    @property
    def given(self) -> list[exp.Property]:
        """All options, wherever they are said."""
        return [
            option for word in ("WITH", "TBLPROPERTIES") for option in (self.clause(word) or exp.Tuple()).expressions
        ]

    @property
    def provider(self) -> str | None:
        """The word behind USING, in upper case."""
        using = self.clause("USING")
        return None if using is None else using.name.upper()

    @property
    def is_spark_style(self) -> bool:
        """Whether USING, TBLPROPERTIES or OPTIONS is there, and no ``WITH (..)``."""
        return self.clause("USING", "TBLPROPERTIES", "OPTIONS") is not None and self.clause("WITH") is None


# -- grammar ----------------------------------------------------------------------------------------------------------


@reads("CREATE|REPLACE", "TABLE|OR|TEMPORARY|TEMP|EXTERNAL")
def read_create_table(parser: PaimonParser) -> CreateTable | None:
    """``[CREATE [OR REPLACE] | REPLACE] TABLE [IF NOT EXISTS] t [(..)] clauses [[AS] query]``."""
    if not parser.shallow:
        return _read_deeply(parser)
    replaces = parser.accept("REPLACE") or parser.accept("CREATE", "OR", "REPLACE") or not parser.accept("CREATE")
    while parser.accept("TEMPORARY|TEMP|EXTERNAL"):
        pass
    if not parser.accept("TABLE"):
        return None
    exists = parser.accept("IF", "NOT", "EXISTS")
    table = parser.table_name()
    if table is None:
        return None
    name_end = parser.index
    try:
        columns, clauses, end = _definition(parser)
        if parser.sees("LIKE"):
            return None
        made = CreateTable(this=table, kind="TABLE", replace=replaces, exists=exists)
        made.meta["definition_end"] = end
        parser.accept("AS")
        made.set("expression", parser.query())
        made.set("properties", exp.Properties(expressions=clauses))
        after = parser.index
        if columns is not None:
            parser.go(name_end)
            made.set("this", _schema(parser, made, table, columns))
            parser.go(after)
    except RefusedError as error:
        error.about = table
        raise
    return made


def _read_deeply(parser: PaimonParser) -> CreateTable | None:
    """The table as sqlglot reads it; what Flink and Spark write is the same tree."""
    start = parser.index
    while parser.accept("CREATE|OR|REPLACE"):
        pass
    if not parser.accept("TABLE"):
        return None
    words = set[str]()
    while parser.token and not parser.sees("AS|SELECT"):
        words.add(parser.word)
        parser.step()
    if "LIKE" in words:
        return None
    node, says_spark = None, not words.isdisjoint(("USING", "TBLPROPERTIES", "OPTIONS")) and "WITH" not in words
    for parser.spark_timestamps in (True, False) if not says_spark and "WITH" not in words else (says_spark,):
        parser.go(start)
        node = parser.sparks_statement()
        if not isinstance(node, exp.Create) or not any(map(_is_flinks, node.walk())):
            break
    if not isinstance(node, exp.Create):
        return None
    made = CreateTable(**node.args)
    _as_flink_says(made)
    return made


def _is_flinks(node: exp.Expr) -> bool:
    """Whether only Flink writes that in the definition of a table."""
    if isinstance(node, exp.DataType):
        return bool(node.meta.get("foreign") or (node.this in exp.DataType.TEMPORAL_TYPES and node.expressions))
    return isinstance(node, exp.PrimaryKey | exp.PrimaryKeyColumnConstraint)


def _as_flink_says(table: CreateTable) -> None:
    """Take out USING paimon, and make the option of the primary key a constraint."""
    properties = table.args.get("properties")
    for each in list(properties.expressions) if properties is not None else ():
        if isinstance(each, exp.FileFormatProperty) and each.name.upper() == _PAIMON:
            each.pop()
        elif isinstance(table.this, exp.Schema) and each.name == "primary-key" and not table.find(exp.PrimaryKey):
            names = [exp.to_identifier(name.strip()) for name in each.text("value").split(",")]
            table.this.append("expressions", exp.PrimaryKey(expressions=names))
            each.pop()
    if properties is not None:  # in the order in which they are written
        properties.set("expressions", sorted(properties.expressions, key=lambda each: type(each) is exp.Property))
        table.set("properties", properties if properties.expressions else None)


@writes(CreateTable)
def create_table_sql(generator: Generator, node: CreateTable) -> str:
    """As sqlglot writes it."""
    return generator.create_sql(node)


def _definition(parser: PaimonParser) -> tuple[Verbatim | None, list[exp.Expr], int]:
    """The bracket of the columns as text, the clauses behind it, and the offset where they end."""
    columns, end = None, parser.before().end + 1
    if parser.sees("(") and not _is_query(parser):
        columns = parser.bracket_text()
        if columns is None:
            raise PlacedError("The bracket of the columns never closes", end, end)
        end = parser.before().end + 1
    clauses: list[exp.Expr] = []
    while parser.token and not parser.sees("LIKE"):
        first = parser.token
        if parser.sees("WITH", "(") or parser.sees("TBLPROPERTIES"):
            parser.step_into()
            if not parser.sees("("):
                raise PlacedError("TBLPROPERTIES needs options in brackets", first.start, first.end)
            clauses.append(parser.placed(Clause(this=exp.Var(this=first.text.upper()), value=parser.options()), first))
        elif (parser.sees("WITH") and not parser.sees("WITH", "SERDEPROPERTIES")) or (
            parser.sees(_QUERY) and not parser.sees("TABLE", "PROPERTIES")
        ):
            break
        elif parser.sees("USING"):
            parser.step_into()
            provider = parser.parts()
            name = ".".join(part.name for part in provider.expressions) if provider is not None else ""
            clauses.append(parser.placed(Clause(this=exp.Var(this="USING"), value=exp.Var(this=name)), first))
        else:
            clauses.append(_other_clause(parser))
        end = parser.before().end + 1
    return columns, clauses, end


def _other_clause(parser: PaimonParser) -> Clause:
    """A clause of Spark's, as text."""
    first, word = parser.token, parser.word.partition(" ")[0]
    if parser.accept("STORED|CLUSTERED|CLUSTER|SKEWED|PARTITIONED", "AS|BY"):
        parser.step()
        if word == "CLUSTERED":
            if parser.accept("SORTED", "BY"):
                parser.step()
            if parser.sees("INTO") and parser.sees("BUCKETS", ahead=2):
                parser.go(parser.index + 3)
    elif parser.accept("OPTIONS|SERDEPROPERTIES"):
        parser.step()
    else:
        parser.step()
    text = parser.sql[first.start : parser.before().end + 1]
    return parser.placed(Clause(this=exp.Var(this=word), value=Verbatim(this=text)), first)


def _is_query(parser: PaimonParser) -> bool:
    """Whether the bracket that is next holds the query of CREATE TABLE t (SELECT ..), and not columns."""
    if parser.sees("WITH", ahead=1):
        return parser.sees("AS|(", ahead=3)
    return parser.sees("SELECT|(", ahead=1) or parser.sees("VALUES", "(", ahead=1)


def _schema(parser: PaimonParser, made: CreateTable, table: exp.Expr, columns: Verbatim) -> exp.Expr:
    """The columns, read if something among them may be ours; their text otherwise."""
    words = set(columns.meta["words"])
    is_ours = made.clause("WITH") is not None or not words.isdisjoint(_MARKS)
    if is_ours or not words.isdisjoint(_SUSPECTS) or not parser.shallow:
        parser.spark_timestamps = made.is_spark_style
        try:
            return parser.schema(table)
        except RefusedError:
            if is_ours:
                raise
        except PlacedError as error:
            if is_ours:
                problem = f"The columns cannot be read: {error.problem}"
                raise RefusedError(problem, error.start, error.end, error.remedy) from None
    return exp.Schema(this=table, expressions=[columns])


# -- what becomes of it -----------------------------------------------------------------------------------------------


@rewrites(CreateTable)
def create_table(node: CreateTable, reading: Reading) -> Outcome | None:
    """What a CREATE or REPLACE TABLE becomes; None where it is Spark's as it stands."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    context = reading.context
    table = context.to_be(names_of(target))
    if table is None:
        return None
    if table[0] in context.shared_catalogs and (node.provider or context.default_provider.upper()) != _PAIMON:
        return None
    said = any(option.name == "type" for option in node.given)
    kind = [_property_sql("type", "format-table")] if node.provider in _FILES and not said else []
    return list(_edits(node, reading.source, kind)) or None


def _edits(node: CreateTable, text: str, kind: list[str]) -> Iterator[Edit]:
    schema = node.this if isinstance(node.this, exp.Schema) and not _is_text(node.this) else None
    columns, keys = (columns_of(schema, text, node.is_spark_style), keys_of(schema)) if schema is not None else ([], [])
    is_ours = node.clause("WITH") is not None or keys or any(c.foreign or c.is_key for c in columns)
    if not is_ours:
        yield from _property_edits(text, node, kind)
        return
    key = _primary_key(text, columns, keys)
    if schema is not None and columns:
        spans = [span(each) for each in schema.expressions]
        yield from without_elements(spans, [span(k) for k in keys])
        yield from (edit for column in columns for edit in column.edits)
    elif schema is not None:  # CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) AS SELECT ..
        yield Edit(*Span(schema.meta["start"], schema.meta["end"] + 1), "")
    spark_says = node.is_spark_style  # and so the spellings that Spark knows mean what they mean in Spark
    additions = [
        _property_sql(TYPE_PROPERTY + column.name, type_text(column.type))
        for column in columns
        if column.type is not None and not column.is_exact and (column.foreign or not spark_says)
    ]
    if key is not None:
        _refuse_both(text, node.given, "primary-key", "The primary key is said twice, as a constraint and here.")
        additions.insert(0, _property_sql("primary-key", key))
    yield from _property_edits(text, node, additions + kind)


def _is_text(schema: exp.Schema) -> bool:
    return any(isinstance(each, Verbatim) and "words" in each.meta for each in schema.expressions)


def _property_sql(key: str, value: str) -> str:
    return f"{string_sql(key)} = {string_sql(value)}"


def _primary_key(text: str, columns: Sequence[Column], keys: Sequence[exp.PrimaryKey]) -> str | None:
    """The names of the key's columns, separated by commas."""
    said = [([part.name for part in k.expressions], span(k)) for k in keys]
    said += [([c.name], c.span) for c in columns if c.is_key]
    if not said:
        return None
    names, (start, end) = said[-1]
    if len(said) > 1:
        remedy = "Name all its columns in one PRIMARY KEY (a, b) NOT ENFORCED."
        raise SqlSyntaxError("A table has one primary key.", text=text, start=start, end=end, remedy=remedy)
    if any("," in name for name in names):
        raise SqlSyntaxError("The name of a key's column holds a comma.", text=text, start=start, end=end)
    return ",".join(names)


def _refuse_both(text: str, given: Sequence[exp.Property], key: str, problem: str) -> None:
    said = next((option for option in given if option.name == key), None)
    if said is not None:
        start, end = span(said)
        raise SqlSyntaxError(problem, text=text, start=start, end=end)


def _property_edits(text: str, node: CreateTable, additions: list[str]) -> Iterator[Edit]:
    """Put the options of WITH and the additions into one TBLPROPERTIES clause."""
    given, properties = node.clause("WITH"), node.clause("TBLPROPERTIES")
    if given is None:
        if properties is not None:
            yield from _appended(properties, additions)
        elif additions:
            end = node.meta["definition_end"]
            yield clause(text, end, end, f"TBLPROPERTIES ({', '.join(additions)})")
        return
    assert given.parent is not None
    start, end = span(given.parent)
    partition = [option for option in given.expressions if option.name == "partition"]
    if node.clause("PARTITIONED") is not None:
        _refuse_both(text, partition, "partition", "The partitions are said twice, in PARTITIONED BY and here.")
    if given.expressions and not partition and properties is None:
        yield Edit(start, start + len("WITH"), "TBLPROPERTIES")
        yield from _appended(given, additions)
        return
    values = (name.strip() for option in partition for name in option.args["value"].name.split(","))
    columns = [quote_name(name) for name in values if name]
    clauses = [f"PARTITIONED BY ({', '.join(columns)})"] if columns else []
    merged = [text[slice(*span(o))] for o in given.expressions if o not in partition] + additions
    if properties is not None:
        yield clause(text, start, end, " ".join(clauses))
        yield from _appended(properties, merged)
        return
    if merged:
        clauses.append(f"TBLPROPERTIES ({', '.join(merged)})")
    yield clause(text, start, end, " ".join(clauses))


def _appended(options: exp.Expr, additions: list[str]) -> Iterator[Edit]:
    """Add to a list of options, before the bracket that closes it."""
    end = span(options).end - 1
    if additions:
        yield Edit(end, end, (", " if options.expressions else "") + ", ".join(additions))
