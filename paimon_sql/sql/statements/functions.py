"""CREATE, DROP and DESCRIBE FUNCTION for functions of Paimon catalogs."""

from __future__ import annotations

from sqlglot import exp

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.grammar import SLOTS, Slot
from paimon_sql.sql.statements.base import declared

_CLASSES = ("JAVA", "SCALA")


def _definition(parser: PaimonParser) -> exp.Expr | None:
    """Parse the rest after a function's name; ``meta["language"]`` are the edits without Flink's ``LANGUAGE JAVA``."""
    edits: list[Edit] = []
    if parser.sees("AS") and parser.sees("LANGUAGE", ahead=2):
        first, last = parser.token_at(2), parser.token_at(3)
        if first is None or last is None or last.text.upper() not in _CLASSES:
            raise parser.refusal("Spark supports only classes of JAVA and SCALA", last)
        edits.append(Edit(first.start, last.end + 1, ""))
    node = parser.rest()
    if node is not None:
        node.meta["language"] = edits
    return node


SLOTS |= {
    "function": Slot(
        "the name of a function",
        PaimonParser.parts,
        lambda node, reading: reading.context.function(names_of(node)),
    ),
    "definition": Slot("a definition", _definition),
}


@declared("CREATE [<replace: OR REPLACE>] FUNCTION [<if_not_exists: IF NOT EXISTS>] {function} {definition}")
class CreateFunction(Statement):
    """CREATE FUNCTION in a catalog; ``definition`` is the text after the name."""

    SPARK_PARSES = True
    function: TableName
    definition: str
    replace: bool = False
    if_not_exists: bool = False

    @classmethod
    def plain_edits(cls, node: exp.Expr, reading: Reading) -> list[Edit]:
        """Without Flink's ``LANGUAGE JAVA``, which Spark does not parse."""
        edits: list[Edit] = node.args["definition"].meta["language"]
        return edits


@declared("DROP FUNCTION [<if_exists: IF EXISTS>] {function}")
class DropFunction(Statement):
    """DROP FUNCTION from a catalog."""

    function: TableName
    if_exists: bool = False


@declared("DESCRIBE|DESC FUNCTION [<extended: EXTENDED>] {function}")
class DescribeFunction(Statement):
    """DESCRIBE FUNCTION of a function of a catalog."""

    function: TableName
    extended: bool = False

    def completed(self, node: exp.Expr, reading: Reading) -> Statement | None:
        if len(self.function) != 3:
            return None
        return self if self.function[1].lower() == "sys" or reading.context.has_function(self.function) else None
