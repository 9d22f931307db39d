"""The dialect that sqlglot knows by the name ``paimon``: ``sqlglot.parse_one(text, read="paimon")``.

It reads what Paimon, Flink and Spark write. ``write="paimon"`` makes Flink's form of definitions, ``write="spark"``
what the rewriting makes of them.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.generator import _DISPATCH_CACHE, Generator
from sqlglot.generators.spark import SparkGenerator

import paimon_sql.sql.statements  # noqa: F401  # its modules register what they read and write
from paimon_sql.sql.dialect.generator import PaimonGenerator
from paimon_sql.sql.dialect.nodes import Incremental, Names, Options, Parts, Travel, option_lists
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.dialect.registry import WRITERS
from paimon_sql.sql.dialect.tokenizer import PaimonTokenizer
from paimon_sql.sql.dialect.types import ExactType
from paimon_sql.sql.names import name_sql, parts_in
from paimon_sql.sql.relation_edits import incremental_option


class Paimon(Spark):
    """Statements as Paimon, Flink and Spark write them."""

    Tokenizer = PaimonTokenizer
    Parser = PaimonParser
    Generator = PaimonGenerator


def _statement(generator: Generator, node: exp.Expr) -> str:
    # That module rewrites, which is done by this dialect.
    from paimon_sql.sql.translate import as_spark

    return as_spark(Paimon().generate(node))


def _travel(generator: Generator, node: Travel) -> str:
    """The version, and the options behind it; the call of a table function says these itself."""
    version = [generator.version_sql(node)] if node.this else []
    is_said = node.parent is not None and isinstance(node.parent.this, Incremental)
    return " ".join((*version, *([] if is_said else [_with(generator, node.parent, [])])))


def _incremental(generator: Generator, node: Incremental) -> str:
    name = ".".join(map(name_sql, parts_in(node.expressions[0].name) or ()))
    return f"{name} {_with(generator, node.parent, [incremental_option(node)])}"


def _with(generator: Generator, table: exp.Expr | None, options: list[str]) -> str:
    options += [generator.sql(each)[1:-1] for each in option_lists(table) if each.expressions]
    return f"WITH ({', '.join(options)})"


def _type(generator: Generator, node: ExactType) -> str:
    return generator.datatype_sql(node)


PaimonGenerator.TRANSFORMS |= WRITERS
SparkGenerator.TRANSFORMS |= dict.fromkeys(WRITERS, _statement)
SparkGenerator.TRANSFORMS |= {node: WRITERS[node] for node in (Options, Parts, Names)}
SparkGenerator.TRANSFORMS |= {Travel: _travel, Incremental: _incremental, ExactType: _type}
_DISPATCH_CACHE.pop(SparkGenerator, None)  # sqlglot builds it from these once


def walk(text: str) -> PaimonParser:
    """A parser that stands at the first token of a text, and behind the last where it cannot be cut into tokens."""
    parser = PaimonParser(dialect=Paimon())
    try:
        parser.begin(text, 0, len(text))
    except TokenError:
        parser.reset()
    return parser
