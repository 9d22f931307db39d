"""Carried statements as data, and their encoding as a CALL that passes Spark's parser.

A statement that Spark's rules cannot execute on Paimon tables is parsed into a node, and converted to one of these
classes, which a CALL carries (see ``carry``). Expressions and queries inside stay SQL text, which Spark parses at
execution; a table is its full name, catalog first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from typing import ClassVar
from urllib.parse import unquote

from sqlglot import exp

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.records import Record
from paimon_sql.sql.context import Reading, TableName
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.grammar import Series, Slot
from paimon_sql.sql.text.names import name_sql, quote_name

Options = Mapping[str, str]


class Node(Record):
    """A part of a statement, encoded in JSON under the name of its class."""


class Statement(Node):
    """A statement that Python executes.

    Attributes:
        SPARK_PARSES: whether Spark's parser knows the statement and can find errors inside it.
        NODE: the class of its tree nodes.
        SLOTS: its slots by name.
        GRAMMARS: its grammars, one per spelling.
    """

    SPARK_PARSES: ClassVar[bool] = False
    NODE: ClassVar[type[exp.Expr]]
    SLOTS: ClassVar[Mapping[str, Slot]] = {}
    GRAMMARS: ClassVar[Sequence[Series]] = ()

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        """The statement of a node; None if its table is another catalog's, or Spark executes it."""
        given: dict[str, object] = {}
        for name in (f.name for f in fields(cls) if node.args.get(f.name) is not None):
            value = node.args[name]
            given[name] = cls.SLOTS[name].value(value, reading) if name in cls.SLOTS else _FLAGS.get(value, value)
            if given[name] is None:
                return None
        return cls(**given).completed(node, reading)

    def completed(self, node: exp.Expr, reading: Reading) -> Statement | None:
        """The statement with what single slots do not tell; None if Spark executes it."""
        return self

    @classmethod
    def plain_edits(cls, node: exp.Expr, reading: Reading) -> list[Edit]:
        """The edits that Spark's parser needs, besides those of queries; they replace edits that they overlap."""
        return []


class OfTable(Statement):
    """A statement about a table."""

    table: TableName


class RowChange(OfTable):
    """A statement that changes rows of ``table``.

    ``text`` is the whole statement in Spark's grammar, with the user's lines and columns; the rewrite sets it.
    """

    SPARK_PARSES = True
    text: str = field(default="", compare=False, kw_only=True)


class ExplainChange(Statement):
    """EXPLAIN of a statement that changes rows; ``mode`` is Spark's, in lower case."""

    SPARK_PARSES = True
    statement: RowChange
    mode: str = "simple"


INTERNAL_PROCEDURE = "__execute"
"""The procedure of database ``sys`` that executes a carried statement; no list shows it."""

_KIND, _MAPPING = "is", "map"
_FLAGS = {"TRUE": True, "FALSE": False}
# Characters that some setting of Spark escapes in string literals, and the start of variable substitution.
_UNSAFE = re.compile(r"[%'\\$\x00-\x1f]")


def encode(statement: Statement) -> str:
    """Encode as JSON without single quotes, backslashes and dollars, so that any string literal can hold it."""
    text = json.dumps(_to_json(statement), ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def decode(text: str) -> Statement:
    """Decode the text of `encode`.

    Raises:
        InvalidInputError: `encode` did not write the text.
    """
    try:
        statement = _from_json(json.loads(unquote(text)))
    except (ValueError, LookupError, TypeError, AttributeError):
        statement = None
    if not isinstance(statement, Statement):
        raise InvalidInputError(
            f"{INTERNAL_PROCEDURE} is internal, and '{text[:40]}' is not an encoded statement.",
            remedy="Run the statement itself.",
        )
    return statement


def call_sql(catalog: str, statement: Statement) -> str:
    """The CALL that carries the statement to the catalog."""
    return f"CALL {name_sql(catalog)}.sys.{quote_name(INTERNAL_PROCEDURE)}(statement => '{encode(statement)}')"


def _to_json(value: object) -> object:
    if isinstance(value, Node):
        given = ((f, getattr(value, f.name)) for f in fields(value))
        return {_KIND: type(value).__name__} | {f.name: _to_json(v) for f, v in given if v != _default(f)}
    if isinstance(value, Mapping):  # under a separate key: an option's name could equal `_KIND`
        return {_MAPPING: {k: _to_json(v) for k, v in value.items()}}
    return [_to_json(v) for v in value] if isinstance(value, tuple) else value


def _default(f: Field[object]) -> object:
    return f.default if f.default_factory is MISSING else f.default_factory()


def _from_json(value: object) -> object:
    if isinstance(value, list):
        return tuple(_from_json(v) for v in value)
    if not isinstance(value, dict):
        return value
    if _MAPPING in value:
        return {k: _from_json(v) for k, v in value[_MAPPING].items()}
    return classes()[value[_KIND]](**{k: _from_json(v) for k, v in value.items() if k != _KIND})


def classes() -> dict[str, type[Node]]:
    found, todo = {}, [Node]
    while todo:
        for each in todo.pop().__subclasses__():
            found[each.__name__] = each
            todo.append(each)
    return found
