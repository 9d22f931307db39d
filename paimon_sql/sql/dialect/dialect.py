"""Paimon's dialect of sqlglot as sessions use it."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from paimon_sql.sql.dialect.generator import PaimonGenerator
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.dialect.tokenizer import PaimonTokenizer


class PaimonDialect(Spark):
    """Statements as Paimon, Flink and Spark write them."""

    Tokenizer = PaimonTokenizer
    Parser = PaimonParser
    Generator = PaimonGenerator


def walk(text: str) -> PaimonParser:
    """A parser that stands at the first token of a text, and behind the last where it cannot be cut into tokens."""
    parser = PaimonParser(dialect=PaimonDialect())
    try:
        parser.begin(text, 0, len(text))
    except TokenError:
        parser.reset()
    return parser
