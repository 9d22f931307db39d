"""What rights leave of rows: conditions and masks as servers tell them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from paimon_sql.errors import CatalogUnavailableError, NotAllowedError
from paimon_sql.storage.metadata.catalog_environment import QueryAuthResult
from paimon_sql.storage.read.query_auth import authorized_rows, referenced_columns

ROWS = pa.RecordBatch.from_pydict({"a": pa.array([1, 2, None], pa.int32()), "b": ["x", "yx", None]})


def reference(column: str) -> dict[str, object]:
    kind = "INT" if column == "a" else "STRING"
    return {"name": "FIELD_REF", "fieldRef": {"index": 0, "name": column, "type": kind}}


def leaf(column: str, function: str, *literals: object) -> dict[str, object]:
    return {"kind": "LEAF", "transform": reference(column), "function": function, "literals": list(literals)}


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (leaf("a", "EQUAL", 1), [1]),
        (leaf("a", "NOT_EQUAL", 1), [2]),
        (leaf("a", "LESS_OR_EQUAL", "1"), [1]),
        (leaf("a", "IN", 2, None), [2]),
        (leaf("a", "NOT_IN", 2), [1]),
        (leaf("a", "NOT_IN", 2, None), []),
        (leaf("a", "NOT_BETWEEN", 2, 3), [1]),
        (leaf("a", "NOT_BETWEEN", 2, None), []),
        (leaf("a", "IS_NULL"), [None]),
        (leaf("b", "ENDS_WITH", "x"), [1, 2]),
        (leaf("b", "LIKE", "_x"), [2]),
        (leaf("b", "CONTAINS", "y"), [2]),
        ({"kind": "COMPOUND", "function": "OR", "children": [leaf("a", "EQUAL", 1), leaf("b", "IS_NULL")]}, [1, None]),
        ({"kind": "LEAF", "function": "FALSE"}, []),
    ],
)
def test_rows_are_shown_for_which_a_condition_is_true(condition: dict[str, object], left: list[int | None]) -> None:
    rights = QueryAuthResult.read([json.dumps(condition)], {})
    assert authorized_rows(rights, ROWS).column("a").to_pylist() == left


def test_masks_take_the_place_of_values_and_see_no_masks() -> None:
    upper = {"name": "UPPER", "inputs": [reference("b")["fieldRef"]]}
    cast = {"name": "CAST", "fieldRef": reference("a")["fieldRef"], "type": "STRING"}
    joined = {"name": "CONCAT_WS", "inputs": ["-", reference("b")["fieldRef"], "z"]}
    assert authorized_rows(QueryAuthResult.read([], {"b": json.dumps(upper)}), ROWS).column("b").to_pylist() == [
        "X",
        "YX",
        None,
    ]
    assert authorized_rows(QueryAuthResult.read([], {"b": json.dumps(cast)}), ROWS).column("b").to_pylist() == [
        "1",
        "2",
        None,
    ]
    assert authorized_rows(QueryAuthResult.read([], {"b": json.dumps(joined)}), ROWS).column("b").to_pylist() == [
        "x-z",
        "yx-z",
        "z",
    ]
    both = QueryAuthResult.read([json.dumps(leaf("a", "EQUAL", 2))], {"a": '{"name": "NULL"}'})
    assert authorized_rows(both, ROWS).to_pydict() == {"a": [None], "b": ["yx"]}
    assert referenced_columns(both, ["b"]) == {"a"}


def test_what_is_not_known_shows_nothing() -> None:
    for condition in (leaf("a", "SOUNDS_LIKE", 1), {"kind": "COMPOUND", "function": "XOR", "children": []}):
        with pytest.raises(NotAllowedError, match="which is not supported"):
            authorized_rows(QueryAuthResult.read([json.dumps(condition)], {}), ROWS)
    with pytest.raises(NotAllowedError, match="'ROT13'"):
        authorized_rows(QueryAuthResult.read([], {"b": '{"name": "ROT13"}'}), ROWS)
    with pytest.raises(CatalogUnavailableError, match="not of type int32"):
        authorized_rows(QueryAuthResult.read([json.dumps(leaf("a", "EQUAL", "x"))], {}), ROWS)
    with pytest.raises(CatalogUnavailableError, match="invalid query authorization"):
        QueryAuthResult.read(["{"], {})
