"""Query authorization of rows: filters and column masks that a catalog's server sets (Paimon: `query-auth.enabled`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CatalogUnavailableError, NotAllowedError, PaimonError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import parse_type, string_type
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.metadata.catalog_environment import FieldRef, Node, QueryAuthResult
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table


def referenced_columns(rights: QueryAuthResult, wanted: Sequence[str]) -> set[str]:
    """The columns that filters, and the masks of wanted columns, refer to."""
    nodes = [*rights.filters, *(mask for column, mask in (rights.masks or {}).items() if column in wanted)]
    return {name for node in nodes for name in _named(node)}


def authorized_rows(rights: QueryAuthResult, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Apply filters and masks to a batch."""
    allowed = reduce(pc.and_, [_holds(node, batch) for node in rights.filters], pa.repeat(True, batch.num_rows))
    rows = batch.filter(allowed)
    masks = {column: mask for column, mask in (rights.masks or {}).items() if column in rows.schema.names}
    # Masks are computed from stored values, not from the results of other masks.
    made = {column: _value(mask, rows).cast(rows.schema.field(column).type) for column, mask in masks.items()}
    columns = [made.get(name, rows.column(name)) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _named(node: object) -> Iterator[str]:
    """The columns that a node refers to."""
    if isinstance(node, Mapping) and {"index", "name", "type"} <= node.keys():
        yield str(node["name"])
    elif isinstance(node, Mapping | list):
        for inner in node.values() if isinstance(node, Mapping) else node:
            yield from _named(inner)


def _holds(node: Node, batch: pa.RecordBatch) -> pa.Array:
    """The rows that a condition is true for, as booleans."""
    if node.get("kind") == "COMPOUND":
        join = {"AND": pc.and_, "OR": pc.or_}.get(str(node.get("function")))
        children = [_holds(child, batch) for child in node.get("children") or ()]
        if join is None or not children:
            raise _unknown(node)
        return reduce(join, children)
    function, literals = str(node.get("function")), node.get("literals") or []
    if function in ("TRUE", "FALSE"):
        return pa.repeat(function == "TRUE", batch.num_rows)
    value = _value(node["transform"], batch)
    if function in ("IS_NULL", "IS_NOT_NULL"):
        return pc.is_null(value) if function == "IS_NULL" else pc.is_valid(value)
    if function not in _FUNCTIONS:
        raise _unknown(node)
    return pc.fill_null(_FUNCTIONS[function](value, _literals(literals, value.type)), False)


def _literals(literals: Sequence[object], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(literals, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    try:
        return pa.array([str(x) for x in literals], pa.string()).cast(kind)
    except pa.ArrowInvalid as error:
        raise CatalogUnavailableError(
            f"The query authorization of the catalog's server has values that are not of type {kind}."
        ) from error


def _contained(value: pa.Array, literals: pa.Array) -> pa.Array:
    found = pc.is_in(value, value_set=literals.drop_null())
    return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))


def _between(value: pa.Array, literals: pa.Array) -> pa.Array:
    return pc.and_(pc.greater_equal(value, literals[0]), pc.less_equal(value, literals[1]))


_FUNCTIONS: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "EQUAL": lambda v, x: pc.equal(v, x[0]),
    "NOT_EQUAL": lambda v, x: pc.not_equal(v, x[0]),
    "LESS_THAN": lambda v, x: pc.less(v, x[0]),
    "LESS_OR_EQUAL": lambda v, x: pc.less_equal(v, x[0]),
    "GREATER_THAN": lambda v, x: pc.greater(v, x[0]),
    "GREATER_OR_EQUAL": lambda v, x: pc.greater_equal(v, x[0]),
    "STARTS_WITH": lambda v, x: pc.starts_with(v, x[0].as_py()),
    "ENDS_WITH": lambda v, x: pc.ends_with(v, x[0].as_py()),
    "CONTAINS": lambda v, x: pc.match_substring(v, x[0].as_py()),
    "LIKE": lambda v, x: pc.match_like(v, x[0].as_py()),
    "IN": _contained,
    "NOT_IN": lambda v, x: pc.invert(_contained(v, x)) if not x.null_count else pa.nulls(len(v), pa.bool_()),
    "BETWEEN": _between,
    "NOT_BETWEEN": lambda v, x: pc.invert(_between(v, x)),
}


def _value(node: Node, batch: pa.RecordBatch) -> pa.Array:
    """Evaluate a transform for each row."""
    name = str(node.get("name"))
    if name == "FIELD_REF":
        return batch.column(str(node["fieldRef"]["name"]))
    if name == "NULL":
        return pa.nulls(batch.num_rows)
    if name == "CAST":
        source, target = (parse_type(text) for text in (node["fieldRef"]["type"], node["type"]))
        return cast(batch.column(str(node["fieldRef"]["name"])), source, target)
    strings = [_string(given, batch) for given in node.get("inputs") or ()]
    if name in ("UPPER", "LOWER") and len(strings) == 1:
        return pc.utf8_upper(strings[0]) if name == "UPPER" else pc.utf8_lower(strings[0])
    if name == "CONCAT" and strings:
        return pc.binary_join_element_wise(*strings, "", null_handling="emit_null")
    if name == "CONCAT_WS" and len(strings) > 1:
        return pc.fill_null(reduce(lambda a, b: _joined(a, b, strings[0]), strings[1:]), "")
    raise _unknown(node)


def _string(given: FieldRef | str | None, batch: pa.RecordBatch) -> pa.Array:
    kind = arrow_type(string_type())
    if isinstance(given, dict):
        return batch.column(str(given["name"])).cast(kind)
    return pa.repeat(pa.scalar(given, kind), batch.num_rows)


def _joined(left: pa.Array, right: pa.Array, separator: pa.Array) -> pa.Array:
    """Join two strings as CONCAT_WS does, ignoring nulls; Arrow's kernel would drop rows of only nulls."""
    both = pc.and_(pc.is_valid(left), pc.is_valid(right))
    return pc.if_else(both, pc.binary_join_element_wise(left, right, separator), pc.coalesce(left, right))


def _unknown(node: Node) -> PaimonError:
    what = node.get("function") or node.get("name")
    return NotAllowedError(
        f"The query authorization of the catalog's server uses '{what}', which is not supported, so no rows are shown.",
        remedy="Read the table with an engine that supports it.",
    )


@dataclass(frozen=True)
class QueryAuthTask:
    """Reads a split under query authorization.

    Attributes:
        table: the table.
        split: the split.
        columns: the wanted columns.
        rights: the filters and masks.
    """

    table: Table
    split: Split
    columns: tuple[str, ...]
    rights: QueryAuthResult

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The allowed rows, masked, in no particular order."""
        columns = tuple(dict.fromkeys([*self.columns, *sorted(referenced_columns(self.rights, self.columns))]))
        for batch in ReadTask(self.table, self.split, columns).batches():
            yield authorized_rows(self.rights, batch).select(list(self.columns))


def check_query_auth(table: Table, rights: QueryAuthResult) -> None:
    """Check that the table has the columns that filters and masks refer to.

    Raises:
        NotAllowedError: one is missing, so the filters or masks cannot be applied.
    """
    missing = referenced_columns(rights, table.schema.names) - set(table.schema.names)
    if missing:
        names = ", ".join(sorted(missing))
        raise NotAllowedError(
            f"{table.name}: Unable to read data without column {names}, which the query authorization of the"
            " catalog's server uses."
        )
