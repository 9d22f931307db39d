"""Statements as Spark or Flink write them, whatever session they are for, and laid out to be read."""

from __future__ import annotations

from collections import Counter

from sqlglot import Dialect, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.dialect.errors import RefusedError
from paimon_sql.sql.dialect.nodes import Explain, Travel, Verbatim
from paimon_sql.sql.dialect.registry import WRITERS
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.rewrite import rewrite


class _Everywhere(RewriteContext):
    """A session whose catalogs are all Paimon's."""

    def to_be(self, parts: tuple[str, ...] | None) -> TableName | None:
        full = self.full_name(parts) if parts else None
        return full and (self.current_catalog, *full[1:])


_EVERYWHERE = _Everywhere("paimon", "default", frozenset(["paimon"]), other_catalogs=frozenset())


def as_spark(text: str) -> str:
    """A statement as Spark's parser takes it, word for word where it is Spark's already.

    What this package executes and Spark has no words for stays as it is.

    Raises:
        SqlSyntaxError: a construct of ours is malformed or cannot be kept.
    """
    rewritten = rewrite(text, _EVERYWHERE)
    return text if rewritten.statements else rewritten.sql


def as_flink(text: str) -> str:
    """A definition, hint or time travel as Flink writes it; any other statement as it is.

    Raises:
        SqlSyntaxError: a construct of ours is malformed or cannot be kept.
    """
    tree = _tree(text)
    is_ours = any(isinstance(node, (exp.Create, Travel)) or type(node) in WRITERS for node in tree.walk())
    return text if isinstance(tree, Verbatim) or not is_ours else Paimon().generate(tree, pretty=True)


def formatted(text: str) -> str:
    """A statement laid out over lines, each comment kept; as it is where that would lose or change anything.

    Raises:
        SqlSyntaxError: a construct of ours is malformed or cannot be kept.
    """
    tree = _tree(text)
    if isinstance(tree.this if isinstance(tree, Explain) else tree, Verbatim):
        return text
    dialect: Dialect = Paimon()
    if isinstance(tree, exp.Create | exp.Alter) and as_spark(text) == text:
        # A definition that is Spark's stays Spark's: it can be meant for a catalog that has other tables, too.
        dialect = Spark()
        tree = _tree(text, dialect)
    laid_out = dialect.generate(tree, pretty=True)
    return laid_out if _comments(laid_out) == _comments(text) and _tree(laid_out, dialect) == tree else text


def _tree(text: str, dialect: Dialect | None = None) -> exp.Expr:
    """The tree of a statement; text alone where it cannot be read."""
    dialect = dialect or Paimon()
    try:
        trees = [tree for tree in dialect.parser().parse(dialect.tokenize(text), text) if tree is not None]
    except RefusedError as error:
        raise SqlSyntaxError.of(error, text) from None
    except (ParseError, TokenError):
        return Verbatim(this=text)
    return trees[0] if len(trees) == 1 else Verbatim(this=text)


def _comments(text: str) -> Counter[str]:
    return Counter(comment.strip() for token in Paimon().tokenize(text) for comment in token.comments)
