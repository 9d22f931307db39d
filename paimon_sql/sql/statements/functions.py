"""CREATE, DROP and DESCRIBE FUNCTION for functions of Paimon catalogs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Span
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.grammar.slots import SLOTS, Slot
from paimon_sql.sql.statements.base import Carried, Outcome, declared, rewrites

_CLASSES = ("JAVA", "SCALA")


class _Function(Slot):
    """The name of a function of a catalog."""

    what = "the name of a function"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        return parser.parts()

    def value(self, node: exp.Expr, reading: Reading) -> TableName | None:
        return reading.context.function(names_of(node))


class _Definition(Slot):
    """The rest after a function's name; ``meta["language"]`` is the span of Flink's ``LANGUAGE JAVA``."""

    what = "a definition"

    def parse(self, parser: PaimonParser) -> exp.Expr | None:
        language = None
        if parser.sees("AS") and parser.sees("LANGUAGE", ahead=2):
            first, last = parser.token_at(2), parser.token_at(3)
            if first is None or last is None or last.text.upper() not in _CLASSES:
                raise parser.refusal("Spark supports only classes of JAVA and SCALA", last)
            language = Span(first.start, last.end + 1)
        node = parser.rest()
        if node is not None:
            node.meta["language"] = language
        return node


SLOTS |= {"function": _Function(), "definition": _Definition()}


@declared("CREATE [<replace: OR REPLACE>] FUNCTION [<if_not_exists: IF NOT EXISTS>] {function} {definition}")
@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE FUNCTION in a catalog; ``definition`` is the text after the name."""

    function: TableName
    definition: str
    replace: bool = False
    if_not_exists: bool = False


@rewrites(CreateFunction.NODE)
def create_function(node: exp.Expr, reading: Reading) -> Outcome | None:
    """Carry CREATE FUNCTION without Flink's ``LANGUAGE JAVA``, which Spark does not parse."""
    language: Span | None = node.args["definition"].meta["language"]
    plain = [] if language is None else [Edit(*language, "")]
    statement = CreateFunction.of(node, reading.with_edits(plain))
    return None if statement is None else Carried(statement, spark_parses=True, plain=plain)


@declared("DROP FUNCTION [<if_exists: IF EXISTS>] {function}")
@dataclass(frozen=True)
class DropFunction(Statement):
    """DROP FUNCTION from a catalog."""

    function: TableName
    if_exists: bool = False


@declared("DESCRIBE|DESC FUNCTION [<extended: EXTENDED>] {function}")
@dataclass(frozen=True)
class DescribeFunction(Statement):
    """DESCRIBE FUNCTION of a function of a catalog."""

    function: TableName
    extended: bool = False

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement = super().of(node, reading)
        if not isinstance(statement, DescribeFunction) or len(statement.function) != 3:
            return None
        is_known = statement.function[1].lower() == "sys" or reading.context.has_function(statement.function)
        return statement if is_known else None
