"""The dialect of sessions, which sqlglot does not register."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from paimon_sql.sql.dialect.generator import PaimonGenerator
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.dialect.tokenizer import PaimonTokenizer


class PaimonDialect(Spark):
    """The spellings of Paimon, Flink and Spark."""

    Tokenizer = PaimonTokenizer
    Parser = PaimonParser
    Generator = PaimonGenerator


def walk(text: str) -> PaimonParser:
    """A parser at the first token of a text; without tokens if the text cannot be tokenized."""
    parser = PaimonParser(dialect=PaimonDialect())
    try:
        parser.begin(text, 0, len(text))
    except TokenError:
        parser.reset()
    return parser
