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

_QUERY = "LIKE|AS|SELECT|FROM|VALUES|TABLE|MAP|REDUCE|("
"""What ends the clauses."""
_MARKS = frozenset(["PRIMARY", "WATERMARK", "METADATA"])
_SUSPECTS = _MARKS | {
    *("BYTES", "VARBINARY", "BINARY", "BLOB", "CHAR", "VARCHAR", "TIMESTAMP", "TIMESTAMP_LTZ", "PRECISION", "ZONE"),
    *("MULTISET", "ROW", "VECTOR", "ARRAY", "NULL"),
}
"""Words among the columns that may be Flink's; what they are is seen when the columns are read."""
_BEFORE_BY = frozenset(["STORED", "PARTITIONED", "CLUSTERED", "CLUSTER", "SORTED", "SKEWED"])
_BEFORE_A_LIST = frozenset(["OPTIONS", "SERDEPROPERTIES", "ON"])
_SPARKS_CLAUSES = frozenset(["USING", "TBLPROPERTIES", "OPTIONS"])
_PAIMON = "PAIMON"
_FILES = frozenset(["CSV", "JSON", "ORC", "PARQUET", "TEXT"])
"""What stands behind USING for a table of plain files."""


class CreateTable(exp.Create):
    """CREATE or REPLACE TABLE; read shallowly, ``meta["clauses"]`` has by its first word what stands in each clause."""

    @property
    def given(self) -> list[exp.Property]:
        """All options, wherever they are said."""
        lists = [self.meta["clauses"].get(word) for word in ("WITH", "TBLPROPERTIES")]
        return [option for each in lists if each is not None for option in each.expressions]

    @property
    def provider(self) -> str | None:
        """The word behind USING, in upper case."""
        using = self.meta["clauses"].get("USING")
        return None if using is None else ".".join(names_of(using) or ()).upper()

    @property
    def is_spark_style(self) -> bool:
        """Whether USING, TBLPROPERTIES or OPTIONS is there, and no ``WITH (..)``."""
        return _SPARKS_CLAUSES & self.meta["clauses"].keys() != set() and "WITH" not in self.meta["clauses"]


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
    made = CreateTable(this=table, kind="TABLE", replace=replaces, exists=exists)
    start = parser.index
    try:
        columns = None if _is_query(parser) else parser.bracket_text()
        made.meta["clauses"] = _clauses(parser)
        made.meta["definition_end"] = parser.before().end + 1
        if parser.sees("LIKE"):
            return None
        parser.accept("AS")
        made.set("expression", parser.query())
        if columns is not None:
            end = parser.index
            parser.go(start)
            made.set("this", _schema(parser, made, table, columns))
            parser.go(end)
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
    node, says_spark = None, not words.isdisjoint(_SPARKS_CLAUSES) and "WITH" not in words
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


def _clauses(parser: PaimonParser) -> dict[str, exp.Expr | None]:
    """The clauses up to the query, by their first words: options, what USING names, nothing of Spark's own.

    A list of options is placed with the word before it.
    """
    found: dict[str, exp.Expr | None] = {}
    while parser.token and not parser.sees(_QUERY):
        first, word = parser.token, parser.word
        if word == "WITH" and not parser.sees("(|SERDEPROPERTIES", ahead=1):
            break
        parser.step()
        if word == "TBLPROPERTIES" or (word == "WITH" and parser.sees("(")):
            options = parser.options()
            if options is None:
                raise PlacedError(f"{word} needs options in brackets", first.start, first.end)
            found[word] = parser.placed(options, first)
        elif word == "USING":
            found[word] = parser.parts()
        else:
            found[word.partition(" ")[0]] = None
            if word.endswith(" BY") or word in _BEFORE_A_LIST or (word in _BEFORE_BY and parser.accept("AS|BY")):
                parser.step()
    return found


def _is_query(parser: PaimonParser) -> bool:
    """Whether the bracket that is next holds the query of CREATE TABLE t (SELECT ..), and not columns."""
    if parser.sees("WITH", ahead=1):
        return parser.sees("AS|(", ahead=3)
    return parser.sees("SELECT|(", ahead=1) or parser.sees("VALUES", "(", ahead=1)


def _schema(parser: PaimonParser, made: CreateTable, table: exp.Expr, columns: Verbatim) -> exp.Expr:
    """The columns, read if something among them may be ours; their text otherwise."""
    words = set(columns.meta["words"])
    is_ours = "WITH" in made.meta["clauses"] or not words.isdisjoint(_MARKS)
    if is_ours or not words.isdisjoint(_SUSPECTS):
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
    is_ours = "WITH" in node.meta["clauses"] or keys or any(c.foreign or c.is_key for c in columns)
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
    clauses = node.meta["clauses"]
    given, properties = clauses.get("WITH"), clauses.get("TBLPROPERTIES")
    if given is None:
        if properties is not None:
            yield from _appended(properties, additions)
        elif additions:
            end = node.meta["definition_end"]
            yield clause(text, end, end, f"TBLPROPERTIES ({', '.join(additions)})")
        return
    start, end = span(given)
    partition = [option for option in given.expressions if option.name == "partition"]
    if "PARTITIONED" in clauses:
        _refuse_both(text, partition, "partition", "The partitions are said twice, in PARTITIONED BY and here.")
    if given.expressions and not partition and properties is None:
        yield Edit(start, start + len("WITH"), "TBLPROPERTIES")
        yield from _appended(given, additions)
        return
    values = (name.strip() for option in partition for name in option.args["value"].name.split(","))
    columns = [quote_name(name) for name in values if name]
    words = [f"PARTITIONED BY ({', '.join(columns)})"] if columns else []
    merged = [text[slice(*span(o))] for o in given.expressions if o not in partition] + additions
    if properties is not None:
        yield clause(text, start, end, " ".join(words))
        yield from _appended(properties, merged)
        return
    if merged:
        words.append(f"TBLPROPERTIES ({', '.join(merged)})")
    yield clause(text, start, end, " ".join(words))


def _appended(options: exp.Expr, additions: list[str]) -> Iterator[Edit]:
    """Add to a list of options, before the bracket that closes it."""
    end = span(options).end - 1
    if additions:
        yield Edit(end, end, (", " if options.expressions else "") + ", ".join(additions))
