"""SQL generation, as a difference to sqlglot's Spark generator: table definitions in Flink's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.generators.spark import SparkGenerator

from paimon_sql.sql.dialect.column_definitions import ExactType
from paimon_sql.sql.dialect.nodes import (
    Explain,
    Incremental,
    MetadataColumn,
    Names,
    Options,
    Parts,
    Script,
    Travel,
    Verbatim,
)


class PaimonGenerator(SparkGenerator):
    """Generates SQL that the dialect reads."""

    WITH_PROPERTIES_PREFIX = "WITH"
    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()
    TRANSFORMS = {
        **SparkGenerator.TRANSFORMS,
        exp.PrimaryKey: lambda generator, node: f"{generator.primarykey_sql(node)} NOT ENFORCED",
        exp.NotNullColumnConstraint: lambda generator, node: "NULL" if node.args.get("allow_null") else "NOT NULL",
        exp.PrimaryKeyColumnConstraint: lambda generator, node: "PRIMARY KEY NOT ENFORCED",
        exp.ComputedColumnConstraint: lambda generator, node: f"AS {generator.sql(node.this)}",
    }

    def version_sql(self, expression: exp.Version) -> str:
        if expression.name == "TIMESTAMP":
            return f"FOR SYSTEM_TIME {expression.text('kind')} {self.sql(expression, 'expression')}"
        return super().version_sql(expression)


Write = Callable[[Generator, Any], str]

WRITERS: dict[type[exp.Expr], Write] = {}
"""Writers of the nodes that sqlglot does not have, for Spark's dialect and this one."""


def writes(*nodes: type[exp.Expr]) -> Callable[[Write], Write]:
    """Register the writer of some classes of nodes."""

    def register(write: Write) -> Write:
        WRITERS.update(dict.fromkeys(nodes, write))
        PaimonGenerator.TRANSFORMS.update(dict.fromkeys(nodes, write))
        return write

    return register


@writes(Verbatim, Script)
def as_written(generator: Generator, node: exp.Expr) -> str:
    """The text, unchanged."""
    return node.name


@writes(Parts)
def parts_sql(generator: Generator, node: exp.Expr) -> str:
    """``a.b``."""
    return ".".join(map(generator.sql, node.expressions))


@writes(Names)
def names_sql(generator: Generator, node: exp.Expr) -> str:
    """``(a, b)``."""
    return f"({', '.join(map(generator.sql, node.expressions))})"


@writes(Options)
def options_sql(generator: Generator, node: exp.Expr) -> str:
    """``('key' = 'value')``."""
    pairs = (f"{generator.sql(p.this)} = {generator.sql(p.args['value'])}" for p in node.expressions)
    return f"({', '.join(pairs)})"


@writes(Travel)
def travel_sql(generator: Generator, node: Travel) -> str:
    """The option hints, then the version."""
    hints = [f"/*+ OPTIONS{generator.sql(each)} */" for each in node.args["options"]]
    return " ".join((*hints, *([generator.version_sql(node)] if node.this else [])))


@writes(MetadataColumn)
def metadata_column_sql(generator: Generator, node: exp.Expr) -> str:
    """``METADATA FROM 'key' VIRTUAL``."""
    source = f"FROM {generator.sql(node.this)}" if node.this else None
    return " ".join(filter(None, ("METADATA", source, "VIRTUAL" if node.args.get("virtual") else None)))


writes(Incremental)(lambda generator, node: generator.anonymous_sql(node))


@writes(Explain)
def explain_sql(generator: Generator, node: exp.Expr) -> str:
    """EXPLAIN with its mode."""
    return " ".join(filter(None, ("EXPLAIN", node.args.get("mode"), generator.sql(node.this))))


@writes(ExactType)
def type_sql(generator: Generator, node: ExactType) -> str:
    """Paimon's name of the type."""
    return node.paimon.sql()
