"""Translation of statements to Spark's or Flink's SQL without a session, and formatting."""

from __future__ import annotations

import logging
from collections import Counter

from sqlglot import Dialect, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.dialect.generator import WRITERS
from paimon_sql.sql.dialect.nodes import Explain, Travel, Verbatim
from paimon_sql.sql.dialect.session_dialect import PaimonDialect
from paimon_sql.sql.errors import RefusedError, SqlSyntaxError
from paimon_sql.sql.rewrite import rewrite

_LOG = logging.getLogger("paimon_sql")


class _Everywhere(RewriteContext):
    """A context in which every catalog is Paimon's."""

    def resolve_new_table(self, parts: tuple[str, ...] | None) -> TableName | None:
        full = self.full_name(parts) if parts else None
        return full and (self.current_catalog, *full[1:])


_EVERYWHERE = _Everywhere("paimon", "default", frozenset(["paimon"]), other_catalogs=frozenset())


def as_spark(text: str) -> str:
    """Translate a statement to Spark's SQL; unchanged if it is Spark's already, or only this package executes it.

    What has no counterpart, such as a watermark, is left out and logged as a warning.

    Raises:
        SqlSyntaxError: a construct of the dialect is malformed or cannot be supported.
    """
    rewritten = rewrite(text, _EVERYWHERE)
    for warning in rewritten.warnings:
        _LOG.warning("%s", warning)
    return text if rewritten.statements else rewritten.sql


def as_flink(text: str) -> str:
    """Translate definitions, hints and time travel to Flink's SQL; other statements are unchanged.

    Raises:
        SqlSyntaxError: a construct of the dialect is malformed or cannot be supported.
    """
    tree = _tree(text)
    is_ours = any(isinstance(node, (exp.Create, Travel)) or type(node) in WRITERS for node in tree.walk())
    return text if isinstance(tree, Verbatim) or not is_ours else PaimonDialect().generate(tree, pretty=True)


def format_sql(text: str) -> str:
    """Format a statement over several lines with all comments; unchanged if formatting would lose or change anything.

    Raises:
        SqlSyntaxError: a construct of the dialect is malformed or cannot be supported.
    """
    tree = _tree(text)
    if isinstance(tree.this if isinstance(tree, Explain) else tree, Verbatim):
        return text
    dialect: Dialect = PaimonDialect()
    if isinstance(tree, exp.Create | exp.Alter) and as_spark(text) == text:
        # Spark's definitions stay in Spark's form: the catalog may hold other tables, too.
        dialect = Spark()
        tree = _tree(text, dialect)
    pretty_text = dialect.generate(tree, pretty=True)
    return pretty_text if _comments(pretty_text) == _comments(text) and _tree(pretty_text, dialect) == tree else text


def _tree(text: str, dialect: Dialect | None = None) -> exp.Expr:
    """Parse a statement deeply; a `Verbatim` if that fails."""
    dialect = dialect or PaimonDialect()
    try:
        trees = [tree for tree in dialect.parser().parse(dialect.tokenize(text), text) if tree is not None]
    except RefusedError as error:
        raise SqlSyntaxError.of(error, text) from None
    except (ParseError, TokenError):
        return Verbatim(this=text)
    return trees[0] if len(trees) == 1 else Verbatim(this=text)


def _comments(text: str) -> Counter[str]:
    return Counter(comment.strip() for token in PaimonDialect().tokenize(text) for comment in token.comments)
