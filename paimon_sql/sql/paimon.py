"""The dialect that sqlglot knows by the name ``paimon``: ``sqlglot.parse_one(text, read="paimon")``.

It reads what Paimon, Flink and Spark write. ``write="paimon"`` makes Flink's form of definitions, ``write="spark"``
what the rewriting makes of them.
"""

from __future__ import annotations

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

import paimon_sql.sql.statements  # noqa: F401  # its modules register what they read and write
from paimon_sql.sql.dialect.generator import PaimonGenerator
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.dialect.registry import WRITERS
from paimon_sql.sql.dialect.tokenizer import PaimonTokenizer


class Paimon(Spark):
    """Statements as Paimon, Flink and Spark write them."""

    Tokenizer = PaimonTokenizer
    Parser = PaimonParser
    Generator = PaimonGenerator


PaimonGenerator.TRANSFORMS |= WRITERS


def walk(text: str) -> PaimonParser:
    """A parser that stands at the first token of a text, and behind the last where it cannot be cut into tokens."""
    parser = PaimonParser(dialect=Paimon())
    try:
        parser.begin(text, 0, len(text))
    except TokenError:
        parser.reset()
    return parser
