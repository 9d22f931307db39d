"""Lazy frames of Polars over tables, which read only the columns and rows that a query needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import polars
import pyarrow as pa
from polars.io.plugins import register_io_source

from paimon_sql.storage.expressions.predicates import (
    MIRRORED,
    And,
    Comparison,
    In,
    IsNull,
    Or,
    Predicate,
    StartsWith,
    all_of,
)

Node: TypeAlias = Any
"""A node of an expression in Polars' JSON, whose form is not promised: what is not known is not pushed down."""

_COMPARISONS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}

Read: TypeAlias = Callable[[Sequence[str], Predicate | None, int | None], pa.RecordBatchReader]
"""Reads some columns of at most so many rows that satisfy a condition."""


def lazy_frame(kinds: pa.Schema, read: Read) -> polars.LazyFrame:
    """Return a lazy frame; its columns, conditions and limit are those of the query where possible.

    Polars evaluates its own conditions again, so that the result never depends on what was pushed down.

    Args:
        kinds: the columns.
        read: reads the rows.
    """

    def frames(
        with_columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        shown = with_columns or kinds.names
        needed = dict.fromkeys([*shown, *(predicate.meta.root_names() if predicate is not None else ())])
        pushed = None if predicate is None else pushed_down(predicate, kinds)
        left = n_rows
        for batch in read(list(needed), pushed, n_rows if predicate is None else None):
            frame = polars.DataFrame(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = frame.select(shown).head(frame.height if left is None else left)
            yield frame
            left = None if left is None else left - frame.height
            if left == 0:
                return

    return register_io_source(frames, schema=polars.DataFrame(kinds.empty_table()).schema)


def pushed_down(expression: polars.Expr, kinds: pa.Schema) -> Predicate | None:
    """Return a predicate that is true wherever an expression is; None without one.

    Args:
        expression: a condition of Polars.
        kinds: the columns.
    """
    parts = [p for node in _conjuncts(json.loads(expression.meta.serialize(format="json"))) if (p := _of(node, kinds))]
    return all_of(parts)


def _conjuncts(node: Node) -> Iterator[Node]:
    binary = node.get("BinaryExpr") if isinstance(node, Mapping) else None
    if binary is not None and binary["op"] in ("And", "LogicalAnd"):
        yield from _conjuncts(binary["left"])
        yield from _conjuncts(binary["right"])
    else:
        yield node


def _of(node: Node, kinds: pa.Schema) -> Predicate | None:
    """The predicate with exactly the meaning of a node; None without one."""
    with suppress(KeyError, TypeError, ValueError, IndexError, polars.exceptions.PolarsError):
        (kind, body), *others = node.items()
        if not others and kind == "BinaryExpr":
            return _of_binary(body, kinds)
        if not others and kind == "Function":
            return _of_function(body["function"], body["input"], kinds)
    return None


def _of_binary(body: Node, kinds: pa.Schema) -> Predicate | None:
    left, right, operator = body["left"], body["right"], body["op"]
    if operator in ("And", "LogicalAnd", "Or", "LogicalOr"):
        sides = _of(left, kinds), _of(right, kinds)
        if sides[0] is None or sides[1] is None:
            return None
        return (And if operator.endswith("And") else Or)((sides[0], sides[1]))
    comparison = _COMPARISONS[operator]
    if "Column" in right:
        left, right, comparison = right, left, MIRRORED[comparison]
    name = left["Column"]
    (scalar,) = _values(right, kinds.field(name).type)
    return Comparison(name, comparison, scalar)


def _of_function(function: Node, inputs: list[Node], kinds: pa.Schema) -> Predicate | None:
    boolean = function.get("Boolean")
    if boolean == "Not":
        inner = _of(inputs[0], kinds)
        return None if inner is None else inner.negate()
    name = inputs[0]["Column"]
    if boolean in ("IsNull", "IsNotNull"):
        return IsNull(name, boolean == "IsNotNull")
    if isinstance(boolean, Mapping) and "IsIn" in boolean and not boolean["IsIn"].get("nulls_equal"):
        values = _values(inputs[1], kinds.field(name).type)
        return In(name, pa.array(values, kinds.field(name).type))
    if function.get("StringExpr") == "StartsWith":
        (prefix,) = _values(inputs[1], pa.string())
        return StartsWith(name, prefix.as_py())
    return None


def _values(node: Node, kind: pa.DataType) -> list[pa.Scalar]:
    """The values of an expression without columns, which are not null.

    Raises:
        ValueError: it is no such expression, or a value is not one of the type.
    """
    expression = polars.Expr.deserialize(json.dumps(node).encode(), format="json")
    found = polars.select(expression).to_series()
    if found.dtype == polars.List:
        found = found.explode()
    values = found.to_arrow().cast(kind, safe=True)
    if expression.meta.root_names() or values.null_count:
        raise ValueError
    return list(values)
