"""CALL: Flink's names of procedures and arguments, mapped to those of Paimon's Spark connector."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

from paimon_sql.sql.context import Reading, names_of
from paimon_sql.sql.dialect.generator import writes
from paimon_sql.sql.dialect.nodes import span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.statements.base import Outcome, rewrites
from paimon_sql.sql.text.flink_names import ARGUMENTS, PROCEDURES


class Call(exp.Expression):
    """CALL of procedure ``this``; each argument is a value or an `exp.Kwarg`."""

    arg_types = {"this": True, "expressions": False}


@reads("CALL")
def read_call(parser: PaimonParser) -> Call | None:
    """Parse ``CALL [catalog.]sys.procedure(a, name => b)``."""
    parser.accept("CALL")
    procedure, close, arguments = parser.parts(), parser.enter(), list[exp.Expr]()
    if procedure is None or close is None:
        return None
    while parser.index < close:
        first, name = parser.token, parser.identifier() if parser.sees("=>", ahead=1) else None
        parser.accept("=>")
        value = parser.value()
        if value is None or (not parser.accept(",") and parser.index < close):
            return None
        arguments.append(value if name is None else parser.placed(exp.Kwarg(this=name, expression=value), first))
    parser.step()
    return Call(this=procedure, expressions=arguments)


@writes(Call)
def call_sql(generator: Generator, node: exp.Expr) -> str:
    """Generate the CALL with its names unchanged."""
    return f"CALL {generator.sql(node.this)}({generator.expressions(node, flat=True)})"


@rewrites(Call)
def call(node: Call, reading: Reading) -> Outcome | None:
    """Replace Flink's names by Spark's in a CALL of a Paimon catalog."""
    context, parts = reading.context, names_of(node.this) or ()
    if len(parts) < 2 or context.resolve_new_table(parts) is None or parts[-2].lower() != "sys":
        return None
    given_name = parts[-1].lower()
    procedure = PROCEDURES.get(given_name, given_name)
    edits = [Edit(*span(node.this.expressions[-1]), procedure)] if procedure != given_name else []
    names = ARGUMENTS.get(procedure, {})
    named = [each.this for each in node.expressions if isinstance(each, exp.Kwarg)]
    edits += [Edit(*span(name), names[name.name.lower()]) for name in named if name.name.lower() in names]
    if given_name == "rollback_to" and len(node.expressions) == 2 and not named:
        # Flink's rollback_to('t', 2) and rollback_to('t', 'tag') differ by the literal's kind.
        table, target = (span(each).start for each in node.expressions)
        kind = "version" if reading.source[target] in "'\"" else "snapshot"
        edits += [Edit(table, table, "table => "), Edit(target, target, f"{kind} => ")]
    return edits
