"""UPDATE and deletes by key in the Python API, by all strategies of tables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table
from tests.api.test_reads import Row, ids, rows
from tests.api.test_writes import BY_KEY, ENGINES, filled


def stored(table: Table) -> list[Row]:
    """All rows in the order of their ids."""
    found: list[Row] = table.to_arrow().sort_by("id").to_pylist()
    return found


def doubled(given: pa.RecordBatch) -> pa.Array:
    """Twice the ids."""
    return pc.multiply(given["id"], 2)


@pytest.mark.parametrize(("kind", "options"), ENGINES, ids=[kind for kind, _ in ENGINES])
def test_an_update_changes_the_rows_of_its_condition(
    catalog: Catalog, plain: Table, kind: str, options: dict[str, str]
) -> None:
    table = filled(catalog, plain, kind, options)
    if kind == "first row":
        with pytest.raises(errors.UnsupportedError, match="UPDATE is not possible with merge-engine"):
            table.update({"note": "new"})
        return
    tracked = kind in ("tracked", "evolving")
    row_ids = table.scan(columns=["id", "_ROW_ID"]).to_arrow().sort_by("id") if tracked else None
    assert table.update({"note": "new", "AMOUNT": doubled}, "id BETWEEN 5 AND 12") == 8
    assert table.update({"note": "no"}, "id = 99") == 0
    assert table.update({"paid": None}, "id >= 18") == 2
    if kind == "postponed":
        table.call("compact")
    wanted = rows(20)
    wanted[5:13] = [r | {"note": "new", "amount": 2.0 * r["id"]} for r in wanted[5:13]]
    if kind != "partial update":  # there a null replaces no value
        wanted[18:] = [r | {"paid": None} for r in wanted[18:]]
    assert stored(table) == wanted
    table.call("compact")
    assert stored(table) == wanted and table.scan().count() == 20
    if row_ids is not None:
        assert table.scan(columns=["id", "_ROW_ID"]).to_arrow().sort_by("id").equals(row_ids)


def test_an_update_may_compute_from_all_columns(keyed: Table, plain: Table) -> None:
    def shown(given: pa.RecordBatch) -> pa.ChunkedArray:
        assert given.schema.names == keyed.schema.names
        text = pc.binary_join_element_wise(given["day"], given["id"].cast(pa.string()), "-")
        return pa.chunked_array([text.slice(0, 1), text.slice(1)])

    for table in (keyed, plain):
        table.append(rows(9))
        assert table.update({"note": shown, "amount": lambda given: pa.scalar(1.5)}) == 9
        found = table.scan(columns=["note", "amount"]).to_arrow().to_pylist()
        assert sorted(r["note"] for r in found) == sorted(f"{r['day']}-{r['id']}" for r in rows(9))
        assert {r["amount"] for r in found} == {1.5}


def test_rows_of_append_tables_move_to_their_new_partition(catalog: Catalog, plain: Table) -> None:
    table = catalog.create_table("shop.parts", plain.schema, partition_by=["day"])
    table.append(rows(9))
    assert table.update({"day": "z"}, "day = 'a'") == 3
    assert table.scan("day = 'z'").count() == 3 and table.scan("day = 'a'").count() == 0


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "needs a column"),
        ({"nosuch": 1}, "has no column 'nosuch'"),
        ({"note": "a", "NOTE": "b"}, "named twice"),
        ({"amount": "much"}, "'much' is not a value of column amount"),
        ({"amount": pa.scalar("much")}, "is not a value of column amount"),
        ({"amount": lambda rows: pa.array([1.0] * 7)}, "returned 7 values for [23] rows"),
        ({"amount": lambda rows: [1.0]}, "returned list for [23] rows"),
        ({"amount": lambda rows: pa.array(["x"] * rows.num_rows)}, "amount"),
        ({"at": 2**80}, "is not a value of column at"),
    ],
)
@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_values_that_do_not_fit_are_refused_and_leave_nothing(
    request: pytest.FixtureRequest, kind: str, values: dict[str, object], says: str
) -> None:
    table: Table = request.getfixturevalue(kind)
    table.append([r | {"day": "a"} for r in rows(3)])
    before = sorted(p for p in Path(table.path).rglob("*") if p.is_file())
    with pytest.raises(errors.PaimonError, match=says):
        table.update(values)
    assert sorted(p for p in Path(table.path).rglob("*") if p.is_file()) == before


def test_keys_stay(keyed: Table, catalog: Catalog, plain: Table) -> None:
    keyed.append(rows(3))
    with pytest.raises(errors.UnsupportedError, match=r"cannot set primary key columns \(id\)"):
        keyed.update({"ID": 7})
    bound = catalog.create_table(
        "shop.bound", plain.schema, primary_key=["id"], partition_by=["day"], options={"bucket": "1"}
    )
    bound.append(rows(3))
    with pytest.raises(errors.UnsupportedError, match="cannot move to another partition"):
        bound.update({"day": "z"})


def test_a_column_that_must_not_be_null_stays_so(catalog: Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), pa.field("name", pa.string(), nullable=False)])
    for keys in ([], ["id"]):
        table = catalog.create_table(f"shop.n{len(keys)}", schema, primary_key=keys, options={"bucket": "-1"})
        table.append([{"id": 1, "name": "a"}])
        with pytest.raises(errors.PaimonError, match="name"):
            table.update({"name": None})
        assert table.to_arrow().to_pylist() == [{"id": 1, "name": "a"}]


def test_updates_at_the_same_time_all_count(catalog: Catalog, keyed: Table, plain: Table) -> None:
    for table in (keyed, plain):
        table.append([{"id": 1, "day": "a", "amount": 0.0}, {"id": 2, "day": "a", "amount": 0.0}])

        def count(name: str) -> None:
            own = catalog.table(name)
            for _ in range(3):
                own.update({"amount": lambda given: pc.add(given["amount"], 1)}, "id = 1")

        threads = [threading.Thread(target=count, args=(table.name,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert table.scan("id = 1", ["amount"]).to_arrow().to_pylist() == [{"amount": 9.0}]
        assert table.scan("id = 2", ["amount"]).to_arrow().to_pylist() == [{"amount": 0.0}]


@pytest.mark.parametrize(("kind", "options"), BY_KEY, ids=[kind for kind, _ in BY_KEY])
def test_rows_are_deleted_by_their_keys(catalog: Catalog, plain: Table, kind: str, options: dict[str, str]) -> None:
    table = filled(catalog, plain, kind, options)
    assert table.delete_keys([{"id": 3}, {"id": 3}, {"id": 17}, {"id": 99}]) == 2
    assert table.delete_keys([{"id": 3}, {"id": 99}]) == 0
    if kind == "postponed":
        table.call("compact")
    assert ids(table.to_arrow()) == [i for i in range(20) if i not in (3, 17)]


def test_keys_are_any_arrow_data(keyed: Table) -> None:
    keyed.append(rows(30))
    days = [r["day"] for r in rows(30)]
    table = pa.table({"note": ["x"] * 3, "day": days[:3], "id": pa.array([0, 1, 2], pa.int8())})
    assert keyed.delete_keys(table) == 3
    assert keyed.delete_keys(pa.table({"id": [3, 4], "day": [days[4], days[3]]})) == 0
    assert keyed.delete_keys(pa.table({"id": [5, None, 6], "day": [days[5], "a", None]})) == 1
    assert keyed.delete_keys([]) == keyed.delete_keys(table.slice(0, 0)) == 0
    many = pa.table({"id": range(1000), "day": ["abc"[i % 3] for i in range(1000)]})
    assert keyed.delete_keys(many) == 26 and keyed.scan().count() == 0


def test_keys_of_other_kinds_are_refused(keyed: Table, plain: Table) -> None:
    keyed.append(rows(3))
    with pytest.raises(errors.InvalidInputError, match="have no column day"):
        keyed.delete_keys([{"id": 1}])
    with pytest.raises(errors.InvalidInputError, match="has no column 'nosuch'"):
        keyed.delete_keys([{"nosuch": 1}])
    with pytest.raises(errors.InvalidInputError, match="cannot take a value"):
        keyed.delete_keys(pa.table({"id": ["x"], "day": ["a"]}))
    with pytest.raises(errors.UnsupportedError, match="has no primary key"):
        plain.delete_keys([{"id": 1}])


def test_floating_point_keys_are_told_apart_as_in_the_table(catalog: Catalog) -> None:
    schema = pa.schema([("x", pa.float64()), ("v", pa.int64())])
    table = catalog.create_table("shop.floats", schema, primary_key=["x"], options={"bucket": "1"})
    table.append([{"x": 0.0, "v": 1}, {"x": -0.0, "v": 2}, {"x": float("nan"), "v": 3}, {"x": 1.5, "v": 4}])
    assert table.delete_keys([{"x": -0.0}, {"x": float("nan")}]) == 2
    assert sorted(table.to_arrow()["v"].to_pylist()) == [1, 4]


def test_earlier_states_are_neither_updated_nor_altered(keyed: Table) -> None:
    keyed.append(rows(2))
    earlier = keyed.at(1)
    changes: list[Callable[[], object]] = [
        partial(earlier.update, {"note": "x"}),
        partial(earlier.delete_keys, [{"id": 1, "day": "b"}]),
        partial(earlier.alter, drop=["note"]),
    ]
    for change in changes:
        with pytest.raises(errors.UnsupportedError, match="is read at an earlier state"):
            change()
