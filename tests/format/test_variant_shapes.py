"""The shapes that are found in variants: which fields get columns, and of which types."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.variant_utils import VariantUtils

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.variant.paths import parse_path, path_text
from paimon_sql.format.variant.shredding.infer import Limits, ShapeHistory, shapes_of

LIMITS = Limits(width=300, depth=50, share=0.1)


def column(*documents: str | None) -> pa.StructArray:
    """A column of variants out of JSON."""
    pairs = [None if d is None else VariantUtils.parse_json(d) for d in documents]
    return pa.array([p and {"value": p[0], "metadata": p[1]} for p in pairs], arrow_type(t.VariantType()))


def shape(*documents: str | None, limits: Limits = LIMITS) -> str:
    """The shape of a column, as SQL writes types."""
    return shapes_of([column(*documents)], limits)[0].sql()


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], "VARIANT"),
        ([None, None], "VARIANT"),
        (["null", "null"], "VARIANT"),
        (["1", "null", None, "300000"], "BIGINT"),
        (["9223372036854775807", "1"], "BIGINT"),
        (["1.5", "null"], "DECIMAL(18, 1)"),
        (["1.50", "12.125", "7"], "DECIMAL(18, 3)"),
        (["1.0", "20.0"], "BIGINT"),
        (["0.001", "9223372036854775807"], "DECIMAL(38, 3)"),
        (["12345678901234567890.5", "1"], "DECIMAL(38, 1)"),
        (["0.00000000000000000000000000000000000001", "100"], "VARIANT"),
        (["1e5", "2.5e300"], "DOUBLE"),
        (["1e5", "2"], "VARIANT"),
        (["true", "false", "null"], "BOOLEAN"),
        (['"x"', json.dumps("y" * 100)], "STRING"),
        (['"x"', "1"], "VARIANT"),
        (["[1, null, 2]", "[3]"], "ARRAY<BIGINT>"),
        (["[1]", "[]"], "ARRAY<VARIANT>"),
        (["[1]", "[null]"], "ARRAY<VARIANT>"),
        (['[1, "x"]'], "ARRAY<VARIANT>"),
        (["[[1.5], [2]]"], "ARRAY<ARRAY<DECIMAL(18, 1)>>"),
        (["{}"], "VARIANT"),
        (['{"b": 1, "a": "x"}', '{"a": null}', "null"], "ROW<`a` STRING, `b` BIGINT>"),
        (['{"a": {"x": [{"y": 1}]}}'], "ROW<`a` ROW<`x` ARRAY<ROW<`y` BIGINT>>>>"),
        (['{"a": {"x": 1}}', '{"a": 1}'], "ROW<`a` VARIANT>"),
        (['{"a": null}'], "ROW<`a` VARIANT>"),
        (['{"a": 1}', "7"], "VARIANT"),
    ],
)
def test_types_that_go_together_become_columns(documents: list[str | None], expected: str) -> None:
    assert shape(*documents) == expected


def test_what_few_have_stays_inside() -> None:
    documents = [json.dumps({"often": 1, **({"seldom": 2} if i == 0 else {})}) for i in range(11)]
    assert shape(*documents) == "ROW<`often` BIGINT>"
    assert shape(*documents[:10]) == "ROW<`often` BIGINT, `seldom` BIGINT>"
    assert shape(*documents, *([None] * 100)) == "ROW<`often` BIGINT>"


def test_what_is_deep_stays_inside() -> None:
    document = '{"a": {"b": {"c": 1}}}'
    assert shape(document, limits=Limits(300, 1, 0.1)) == "ROW<`a` VARIANT>"
    assert shape(document, limits=Limits(300, 2, 0.1)) == "ROW<`a` ROW<`b` VARIANT>>"


def test_no_more_columns_are_made_than_the_widest_shape_has() -> None:
    document = json.dumps({f"k{i}": i for i in range(9)})
    assert shape(document, limits=Limits(6, 50, 0.1)) == "ROW<`k0` BIGINT, `k1` BIGINT, `k2` VARIANT>"
    two = shapes_of([column(document), column(document)], Limits(22, 50, 0.1))
    assert [s.sql().count("k") for s in two] == [9, 1]


def history(**settings: Any) -> ShapeHistory:
    """What is known of a writer's files."""
    return ShapeHistory(
        Limits(300, 50, settings.get("share", 0.5)), settings.get("most", 100), settings.get("kept", 0.2)
    )


def told(known: ShapeHistory, *documents: str) -> str:
    """The shape of a file that begins so."""
    return known.shapes_of([column(*documents)])[0].sql()


def test_a_field_that_a_file_had_stays_a_column_while_enough_have_it() -> None:
    known = history()
    assert known.is_new
    assert told(known, '{"a": 1, "b": 1}', '{"a": 1}') == "ROW<`a` BIGINT, `b` BIGINT>"
    assert not known.is_new
    assert told(known, '{"a": 1}', '{"a": 1, "c": 1}') == "ROW<`a` BIGINT, `b` BIGINT>"
    assert told(known, *['{"a": 1}'] * 20) == "ROW<`a` BIGINT>"


def test_later_files_may_change_the_types_of_columns() -> None:
    known = history()
    assert told(known, '{"a": 1}') == "ROW<`a` BIGINT>"
    assert told(known, '{"a": 1.25}') == "ROW<`a` DECIMAL(21, 2)>"
    assert told(known, '{"a": "x"}') == "ROW<`a` STRING>"
    assert told(known, "[1]") == "ARRAY<BIGINT>"
    assert told(known, "null") == "ARRAY<BIGINT>"


def test_a_long_past_does_not_outweigh_what_is_new() -> None:
    known = history(most=4)
    told(known, *['{"a": 1}'] * 1000)
    assert told(known, *['{"b": 1}'] * 4) == "ROW<`a` BIGINT, `b` BIGINT>"
    assert told(known, *['{"b": 1}'] * 12) == "ROW<`b` BIGINT>"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.a.b c.d", ("a", "b c", "d")),
        ("$[0]", (0,)),
        ("$.items[12].sku", ("items", 12, "sku")),
        ("$['a.b']", ("a.b",)),
        ('$["it\'s"].x', ("it's", "x")),
        ("a", None),
        ("$a", None),
        ("$.", None),
        ("$[x]", None),
        ("$.a[*]", None),
    ],
)
def test_paths_are_read(text: str, path: tuple[str | int, ...] | None) -> None:
    assert parse_path(text) == path


def test_paths_are_written() -> None:
    assert path_text(("items", 12, "sku")) == "$.items[12].sku"
