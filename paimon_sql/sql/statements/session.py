"""Flink's statements about the session, databases and views that Spark spells differently."""

from __future__ import annotations

import re

from sqlglot import exp

from paimon_sql.sql.dialect.generator import as_written, writes
from paimon_sql.sql.dialect.nodes import Verbatim, span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.statements.base import rewrites
from paimon_sql.sql.text.names import quote_name

_PAIMON_KEY = re.compile(r"spark\.paimon\.[^\s`=;]*[-*][^\s`=;]*")


class Respelled(Verbatim):
    """A statement to respell: ``meta["places"]`` are spans with Spark's text for them."""


writes(Respelled)(as_written)
rewrites(Respelled)(lambda node, _: [Edit(*place) for place in node.meta["places"]])


def _respelled(parser: PaimonParser, *places: tuple[int, int, str]) -> Respelled:
    node = Respelled(this=parser.sql.strip().rstrip(";"))
    node.meta["places"] = places
    parser.rest()
    return node


@reads("USE", "CATALOG")
def use_catalog(parser: PaimonParser) -> exp.Expr | None:
    """Parse ``USE CATALOG c``: ``SET CATALOG c`` in Spark."""
    use = parser.token
    return _respelled(parser, (use.start, use.end + 1, "SET")) if parser.is_name(2) else None


@reads("SHOW", "CREATE", "VIEW")
def show_create_view(parser: PaimonParser) -> exp.Expr | None:
    """Parse ``SHOW CREATE VIEW v``: ``SHOW CREATE TABLE v`` in Spark."""
    view = parser.token_at(2)
    assert view is not None
    return _respelled(parser, (view.start, view.end + 1, "TABLE"))


@reads("CREATE|ALTER", "DATABASE|SCHEMA|NAMESPACE")
def database_options(parser: PaimonParser) -> exp.Expr | None:
    """Parse ``CREATE DATABASE d WITH (..)`` and ``ALTER DATABASE d SET (..)``, which need DBPROPERTIES in Spark."""
    while parser.token and not parser.sees("WITH|SET", "("):
        parser.step()
    word = parser.token
    return _respelled(parser, (word.end + 1, word.end + 1, " DBPROPERTIES")) if word else None


@reads("SET|RESET")
def set_option(parser: PaimonParser) -> exp.Expr | None:
    """Parse keys that Spark needs in back-quotes: ``SET 'key' = 'value'``, and Paimon's with dashes or stars."""
    parser.step()
    at, key = parser.token, parser.string()
    if key is None:
        found = _PAIMON_KEY.match(parser.sql, at.start) if at else None
        return found and _respelled(parser, (found.start(), found.end(), quote_name(found[0])))
    value = parser.string() if parser.accept("=") else None
    return _respelled(parser, *((*span(each), quote_name(each.name)) for each in (key, value) if each is not None))
