"""CREATE TABLE in Flink's and Paimon's form, edited to Spark's.

The result is Spark's CREATE TABLE with ``TBLPROPERTIES``: the primary key as ``'primary-key' = 'a,b'``, the options of
``WITH (..)``, and the exact types that Spark cannot declare under ``types.TYPE_PROPERTY``. ``'partition' = 'dt'``
becomes ``PARTITIONED BY``. A format table, as USING names it, gets the option ``'type' = 'format-table'``.

TIMESTAMP alone is Flink's (a local time) in a statement with a mark of Flink's (``WITH (..)``, PRIMARY KEY, a type of
Flink's), and Spark's in one with USING, TBLPROPERTIES or OPTIONS and without ``WITH (..)``. ``TIMESTAMP(3)``, which
Spark does not know, is Flink's in every statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from paimon_sql.sql.context import Reading, names_of
from paimon_sql.sql.dialect.generator import writes
from paimon_sql.sql.dialect.nodes import Verbatim, span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit, clause
from paimon_sql.sql.errors import PositionedError, RefusedError, SqlSyntaxError
from paimon_sql.sql.statements.base import Outcome, rewrites
from paimon_sql.sql.statements.tables.columns import Column, columns_of, without_elements
from paimon_sql.sql.text.names import quote_name, string_sql
from paimon_sql.sql.types import TYPE_PROPERTY, type_text

_QUERY = "LIKE|AS|SELECT|FROM|VALUES|TABLE|MAP|REDUCE|("
"""Words that end the clauses."""
_MARKS = frozenset(["PRIMARY", "WATERMARK", "METADATA"])
_SUSPECTS = _MARKS | {
    *("BYTES", "VARBINARY", "BINARY", "BLOB", "CHAR", "VARCHAR", "TIMESTAMP", "TIMESTAMP_LTZ", "PRECISION", "ZONE"),
    *("MULTISET", "ROW", "VECTOR", "ARRAY", "NULL", "AS"),
}
"""Words among the columns that may be Flink's, which only parsing the columns decides."""
_BEFORE_BY = frozenset(["STORED", "PARTITIONED", "CLUSTERED", "CLUSTER", "SORTED", "SKEWED"])
_BEFORE_A_LIST = frozenset(["OPTIONS", "SERDEPROPERTIES", "ON"])
_SPARKS_CLAUSES = frozenset(["USING", "TBLPROPERTIES", "OPTIONS"])
UNSTORED_SETTING = "spark.paimon.create.unstored-columns"
"""``leave-out``, the default, or ``refuse``: what CREATE TABLE does with watermarks, computed and metadata columns."""
_PAIMON = "PAIMON"
_FILES = frozenset(["CSV", "JSON", "ORC", "PARQUET", "TEXT"])
"""Words after USING for a format table."""


class CreateTable(exp.Create):
    """CREATE or REPLACE TABLE; after shallow parsing, ``meta["clauses"]`` are the clauses of `_clauses`."""

    @property
    def given(self) -> list[exp.Property]:
        """All options, of WITH and TBLPROPERTIES."""
        lists = [self.meta["clauses"].get(word) for word in ("WITH", "TBLPROPERTIES")]
        return [option for each in lists if each is not None for option in each.expressions]

    @property
    def provider(self) -> str | None:
        """The word after USING, in upper case."""
        using = self.meta["clauses"].get("USING")
        return None if using is None else ".".join(names_of(using) or ()).upper()

    @property
    def is_spark_style(self) -> bool:
        """Whether the statement has USING, TBLPROPERTIES or OPTIONS, and no ``WITH (..)``."""
        return _SPARKS_CLAUSES & self.meta["clauses"].keys() != set() and "WITH" not in self.meta["clauses"]


# -- grammar ----------------------------------------------------------------------------------------------------------


@reads("CREATE|REPLACE", "TABLE|OR|TEMPORARY|TEMP|EXTERNAL")
def read_create_table(parser: PaimonParser) -> CreateTable | None:
    """Parse ``[CREATE [OR REPLACE] | REPLACE] TABLE [IF NOT EXISTS] t [(..)] clauses [[AS] query]``."""
    if not parser.shallow:
        return _read_deeply(parser)
    replaces = parser.accept("REPLACE") or parser.accept("CREATE", "OR", "REPLACE") or not parser.accept("CREATE")
    first = parser.token
    temporary = (first.start, first.end + 1) if parser.accept("TEMPORARY|TEMP") else None
    parser.accept("EXTERNAL")
    if not parser.accept("TABLE"):
        return None
    exists = parser.accept("IF", "NOT", "EXISTS")
    table = parser.table_name()
    if table is None:
        return None
    node = CreateTable(this=table, kind="TABLE", replace=replaces, exists=exists)
    node.meta["temporary"] = temporary
    start = parser.index
    try:
        columns = None if _is_query(parser) else parser.bracket_text()
        node.meta["clauses"] = _clauses(parser)
        node.meta["definition_end"] = parser.previous().end + 1
        if parser.sees("LIKE"):
            return None
        parser.accept("AS")
        node.set("expression", parser.query())
        if columns is not None:
            end = parser.index
            parser.move_to(start)
            node.set("this", _schema(parser, node, table, columns))
            parser.move_to(end)
    except RefusedError as error:
        error.about = table
        raise
    return node


def _read_deeply(parser: PaimonParser) -> CreateTable | None:
    """Parse deeply; Flink's and Spark's forms make the same tree."""
    start = parser.index
    while parser.accept("CREATE|OR|REPLACE"):
        pass
    if not parser.accept("TABLE"):
        return None
    words = set[str]()
    while parser.token and not parser.sees("AS|SELECT"):
        words.add(parser.word())
        parser.step()
    if "LIKE" in words:
        return None
    node, is_spark_style = None, not words.isdisjoint(_SPARKS_CLAUSES) and "WITH" not in words
    for parser.spark_timestamps in (True, False) if not is_spark_style and "WITH" not in words else (is_spark_style,):
        parser.move_to(start)
        node = parser.sparks_statement()
        if not isinstance(node, exp.Create) or not any(map(_is_flinks, node.walk())):
            break
    if not isinstance(node, exp.Create):
        return None
    table = CreateTable(**node.args)
    _to_flink_form(table)
    return table


def _is_flinks(node: exp.Expr) -> bool:
    """Whether a node of a table definition is in Flink's form only."""
    if isinstance(node, exp.DataType):
        return bool(node.meta.get("foreign") or (node.this in exp.DataType.TEMPORAL_TYPES and node.expressions))
    return isinstance(node, exp.PrimaryKey | exp.PrimaryKeyColumnConstraint)


def _to_flink_form(table: CreateTable) -> None:
    """Remove USING paimon, and make the option ``primary-key`` a constraint."""
    properties = table.args.get("properties")
    for each in list(properties.expressions) if properties is not None else ():
        if isinstance(each, exp.FileFormatProperty) and each.name.upper() == _PAIMON:
            each.pop()
        elif isinstance(table.this, exp.Schema) and each.name == "primary-key" and not table.find(exp.PrimaryKey):
            names = [exp.to_identifier(name.strip()) for name in each.text("value").split(",")]
            table.this.append("expressions", exp.PrimaryKey(expressions=names))
            each.pop()
    if properties is not None:  # in the order of Flink's form: clauses, then options
        properties.set("expressions", sorted(properties.expressions, key=lambda each: type(each) is exp.Property))
        table.set("properties", properties if properties.expressions else None)


writes(CreateTable)(lambda generator, node: generator.create_sql(node))


def _clauses(parser: PaimonParser) -> dict[str, exp.Expr | None]:
    """Parse the clauses up to the query, by first word: options, the name after USING, None for Spark's others.

    The position of options includes the word before them.
    """
    found: dict[str, exp.Expr | None] = {}
    while parser.token and not parser.sees(_QUERY):
        first, word = parser.token, parser.word()
        if word == "WITH" and not parser.sees("(|SERDEPROPERTIES", ahead=1):
            break
        parser.step()
        if word == "TBLPROPERTIES" or (word == "WITH" and parser.sees("(")):
            options = parser.options()
            if options is None:
                raise PositionedError(f"{word} needs options in parentheses", first.start, first.end)
            found[word] = parser.placed(options, first)
        elif word == "USING":
            found[word] = parser.parts()
        elif word in ("PARTITIONED BY", "PARTITIONED"):
            parser.accept("BY")
            found["PARTITIONED"] = parser.bracket_text()
        else:
            found[word.partition(" ")[0]] = None
            if word.endswith(" BY") or word in _BEFORE_A_LIST or (word in _BEFORE_BY and parser.accept("AS|BY")):
                parser.step()
    return found


def _is_query(parser: PaimonParser) -> bool:
    """Whether the next bracket holds the query of CREATE TABLE t (SELECT ..), and not columns."""
    if parser.sees("WITH", ahead=1):
        return parser.sees("AS|(", ahead=3)
    return parser.sees("SELECT|(", ahead=1) or parser.sees("VALUES", "(", ahead=1)


def _schema(parser: PaimonParser, node: CreateTable, table: exp.Expr, columns: Verbatim) -> exp.Expr:
    """The columns, parsed if they may hold a construct of the dialect; otherwise as text."""
    words = set(columns.meta["words"])
    is_ours = "WITH" in node.meta["clauses"] or not words.isdisjoint(_MARKS)
    if is_ours or not words.isdisjoint(_SUSPECTS):
        parser.spark_timestamps = node.is_spark_style
        try:
            return parser.schema(table)
        except RefusedError:
            if is_ours:
                raise
        except PositionedError as error:
            if is_ours:
                problem = f"The columns cannot be parsed: {error.problem}"
                raise RefusedError(problem, error.start, error.end, error.remedy) from None
    return exp.Schema(this=table, expressions=[columns])


# -- rewrite -----------------------------------------------------------------------------------------------------------


@rewrites(CreateTable)
def create_table(node: CreateTable, reading: Reading) -> Outcome | None:
    """Rewrite CREATE or REPLACE TABLE; None if Spark takes it unchanged."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    context = reading.context
    table = context.resolve_new_table(names_of(target))
    if table is None:
        return None
    if node.meta["temporary"] is not None:
        _refuse_temporary(node, reading)
        return None
    if table[0] in context.shared_catalogs and (node.provider or context.default_provider.upper()) != _PAIMON:
        return None
    has_type = any(option.name == "type" for option in node.given)
    kind = [_property_sql("type", "format-table")] if node.provider in _FILES and not has_type else []
    return list(_edits(node, reading, kind)) or None


def _refuse_temporary(node: CreateTable, reading: Reading) -> None:
    """Refuse Flink's temporary tables. Spark's, which have a provider and no columns, are views of files."""
    if node.provider is None or "WITH" in node.meta["clauses"]:
        remedy = "Use CREATE TABLE, or CREATE TEMPORARY VIEW .. AS SELECT; a path can be queried: paimon.`/a/path`."
        start, end = node.meta["temporary"]
        problem = "Paimon has no temporary tables."
        raise SqlSyntaxError(problem, text=reading.source, start=start, end=end, remedy=remedy)


def _edits(node: CreateTable, reading: Reading, kind: list[str]) -> Iterator[Edit]:
    schema = node.this if isinstance(node.this, exp.Schema) and not _is_text(node.this) else None
    elements = schema.expressions if schema is not None else []
    declared = columns_of(schema, reading.source, node.is_spark_style) if schema is not None else []
    columns = [column for column in declared if column.unstored is None]
    keys = [each for each in elements if isinstance(each, exp.PrimaryKey)]
    watermarks = [each for each in elements if isinstance(each, exp.WatermarkColumnConstraint)]
    unstored: list[exp.Expr] = [*watermarks, *(column.node for column in declared if column.unstored is not None)]
    is_ours = "WITH" in node.meta["clauses"] or keys or unstored or any(c.foreign or c.is_key for c in columns)
    if not is_ours:
        yield from _property_edits(reading, node, kind)
        return
    key = _primary_key(reading, declared, keys)
    if unstored:
        _leave_out(node, reading, unstored, declared, (key or "").split(","))
    if schema is not None and columns:
        spans = [span(each) for each in elements]
        yield from without_elements(spans, [span(each) for each in (*keys, *unstored)])
        yield from (edit for column in columns for edit in column.edits)
    elif schema is not None:  # CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) AS SELECT ..
        yield Edit(*span(schema), "")
    additions = [
        _property_sql(TYPE_PROPERTY + column.name, type_text(column.type))
        for column in columns
        # In Spark's style, spellings that Spark knows have Spark's meaning.
        if column.type is not None and not column.is_exact and (column.foreign or not node.is_spark_style)
    ]
    if key is not None:
        twice = "The primary key is specified twice, as a constraint and here."
        _refuse_both(reading, node.given, "primary-key", twice)
        additions.insert(0, _property_sql("primary-key", key))
    yield from _property_edits(reading, node, additions + kind)


def _leave_out(
    node: CreateTable, reading: Reading, unstored: Sequence[exp.Expr], declared: Sequence[Column], key: Sequence[str]
) -> None:
    """Warn of the watermarks and columns that the table will not have, or refuse them.

    Raises:
        SqlSyntaxError: the session refuses them, a key or partition needs one, or nothing else is defined.
    """
    kinds = {column.name: column.unstored for column in declared if column.unstored is not None}
    partition = node.meta["clauses"].get("PARTITIONED")
    partitioned = {option.name: option.args["value"].name for option in node.given}.get("partition", "").split(",")
    needed = {name.strip().lower() for name in (*key, *partitioned)}
    needed |= {name.lower().strip("`") for name in partition.meta["words"]} if partition is not None else set()
    for each in unstored:
        if each.name.lower() in needed and each.name in kinds:
            problem = f"The {kinds[each.name]} column '{each.name}' cannot be in the primary key or a partition column"
            raise reading.error(f"{problem}: it is not stored.", each, "Store it: compute its value in each INSERT.")
    if len(kinds) == len(declared) and not node.expression:
        raise reading.error("A table needs a column that is stored.", unstored[0])
    if reading.context.refuses_unstored():
        remedy = f"Leave them out, or RESET `{UNSTORED_SETTING}`."
        raise reading.error("Tables do not store watermarks, computed and metadata columns.", unstored[0], remedy)
    marks = [f"WATERMARK FOR {reading.text(e.this)}" for e in unstored if isinstance(e, exp.WatermarkColumnConstraint)]
    left_out = ", ".join([*(f"the {kind} column {name}" for name, kind in kinds.items()), *marks])
    reading.warnings.append(
        f"CREATE TABLE {'.'.join(names_of(node.this.this) or ())} leaves out {left_out}: only Flink evaluates them."
        " Compute such columns in a view, and set watermarks with withWatermark."
    )


def _is_text(schema: exp.Schema) -> bool:
    return any(isinstance(each, Verbatim) and "words" in each.meta for each in schema.expressions)


def _property_sql(key: str, value: str) -> str:
    return f"{string_sql(key)} = {string_sql(value)}"


def _primary_key(reading: Reading, columns: Sequence[Column], keys: Sequence[exp.PrimaryKey]) -> str | None:
    """The names of the key columns, separated by commas; None without a key."""
    declared: list[exp.Expr] = [*keys, *(column.node for column in columns if column.is_key)]
    if not declared:
        return None
    key = declared[-1]
    if len(declared) > 1:
        remedy = "Name all its columns in one PRIMARY KEY (a, b) NOT ENFORCED."
        raise reading.error("A table has one primary key.", key, remedy)
    names = [part.name for part in key.expressions] if isinstance(key, exp.PrimaryKey) else [key.name]
    if any("," in name for name in names):
        raise reading.error("The name of a key column contains a comma.", key)
    return ",".join(names)


def _refuse_both(reading: Reading, given: Sequence[exp.Property], key: str, problem: str) -> None:
    for option in given:
        if option.name == key:
            raise reading.error(problem, option)


def _property_edits(reading: Reading, node: CreateTable, additions: list[str]) -> Iterator[Edit]:
    """Merge the options of WITH and the additions into one TBLPROPERTIES clause."""
    clauses, text = node.meta["clauses"], reading.source
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
        problem = "The partition columns are specified twice, in PARTITIONED BY and here."
        _refuse_both(reading, partition, "partition", problem)
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
    """Append to a list of options, before its closing bracket."""
    end = span(options).end - 1
    if additions:
        yield Edit(end, end, (", " if options.expressions else "") + ", ".join(additions))
