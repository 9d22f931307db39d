"""Scans of the Python API: conditions, columns, limits, time travel, changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table

Row = dict[str, Any]
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def rows(count: int, first: int = 0) -> list[Row]:
    """Rows with every kind of value, and nulls."""
    return [
        {
            "id": i,
            "day": "abc"[i % 3],
            "amount": None if i % 7 == 0 else i / 2,
            "note": None if i % 5 == 0 else f"n_{i % 4}%",
            "at": START + timedelta(hours=i),
            "paid": i % 2 == 0,
        }
        for i in range(first, first + count)
    ]


def ids(table: pa.Table) -> list[int]:
    """The ids, sorted."""
    return sorted(table["id"].to_pylist())


CONDITIONS: list[tuple[str, Callable[[Row], bool]]] = [
    ("id = 7", lambda r: r["id"] == 7),
    ("ID >= 10 AND id < 13", lambda r: 10 <= r["id"] < 13),
    ("7 > id", lambda r: r["id"] < 7),
    ("id <> 3", lambda r: r["id"] != 3),
    ("amount > 4.5", lambda r: r["amount"] is not None and r["amount"] > 4.5),
    ("amount > 4.5 OR amount IS NULL", lambda r: r["amount"] is None or r["amount"] > 4.5),
    ("NOT (amount > 4.5)", lambda r: r["amount"] is not None and not r["amount"] > 4.5),
    ("note IS NOT NULL", lambda r: r["note"] is not None),
    ("day IN ('a', 'c')", lambda r: r["day"] in "ac"),
    ("day NOT IN ('a', 'c')", lambda r: r["day"] not in "ac"),
    ("id BETWEEN 3 AND 5", lambda r: 3 <= r["id"] <= 5),
    ("id NOT BETWEEN 3 AND 25", lambda r: not 3 <= r["id"] <= 25),
    ("note LIKE 'n%'", lambda r: r["note"] is not None),
    ("note LIKE '%1_'", lambda r: r["note"] == "n_1%"),
    ("note LIKE 'n\\\\_2\\\\%'", lambda r: r["note"] == "n_2%"),
    ("note NOT LIKE '%1_'", lambda r: r["note"] not in (None, "n_1%")),
    ("paid", lambda r: bool(r["paid"])),
    ("NOT paid", lambda r: not r["paid"]),
    ("paid = true AND day = 'b'", lambda r: r["paid"] and r["day"] == "b"),
    ("at >= TIMESTAMP '2024-01-01 20:00:00'", lambda r: r["at"] >= START + timedelta(hours=20)),
    ("id = -1", lambda r: False),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_a_condition_chooses_rows_as_in_sql(
    request: pytest.FixtureRequest, kind: str, condition: str, holds: Callable[[Row], bool]
) -> None:
    table: Table = request.getfixturevalue(kind)
    table.append(rows(20))
    table.append(rows(10, 20))
    wanted = [r["id"] for r in rows(30) if holds(r)]
    assert ids(table.scan(condition).to_arrow()) == wanted
    assert table.scan(condition).count() == len(wanted)
    assert table.scan().where(condition).select("note").to_arrow().num_rows == len(wanted)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("nosuch = 1", "nosuch is not a column"),
        ("id = 'x'", "'x' is not a value of column id"),
        ("id >", "cannot be parsed"),
        ("id + 1 = 2", "is not a column"),
        ("id = amount", "cannot be used in a condition"),
        ("length(note) = 2", "is not a column"),
        ("note", "cannot be used in a condition"),
        ("EXISTS (SELECT 1)", "cannot be used in a condition"),
    ],
)
def test_other_conditions_are_refused(plain: Table, condition: str, says: str) -> None:
    with pytest.raises(errors.InvalidInputError, match=says):
        plain.scan(condition)


def test_columns_come_in_the_order_that_is_asked_for(plain: Table) -> None:
    plain.append(rows(3))
    found = plain.scan(columns=["NOTE", "id", "__paimon_row_index"]).to_arrow()
    assert found.schema.names == ["note", "id", "__paimon_row_index"] and found["id"].to_pylist() == [0, 1, 2]
    with pytest.raises(errors.InvalidInputError, match="has no column 'x'"):
        plain.scan(columns=["x"])
    with pytest.raises(errors.InvalidInputError, match="named twice"):
        plain.scan(columns=["id", "ID"])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_limit_bounds_the_rows(keyed: Table, threads: int) -> None:
    for first in range(0, 30, 10):
        keyed.append(rows(10, first))
    for limit, where in [(0, None), (4, None), (7, "id < 20"), (99, None)]:
        scan = keyed.scan(where, limit=limit)
        assert scan.to_arrow().num_rows == scan.count() == min(limit, 20 if where else 30)
    assert keyed.scan().head(5).head(8).count() == 5
    with pytest.raises(errors.InvalidInputError, match="limit of -1"):
        keyed.scan(limit=-1)


def test_a_reader_that_is_left_ends_its_threads(keyed: Table) -> None:
    for first in range(0, 40, 10):
        keyed.append(rows(10, first))
    reader = keyed.scan().to_reader()
    assert reader.read_next_batch().num_rows
    del reader
    assert keyed.scan().count() == 40


def test_an_empty_table_has_columns_and_no_rows(keyed: Table, plain: Table) -> None:
    for table in (keyed, plain):
        assert table.to_arrow().schema == table.schema and table.scan().count() == 0
        assert table.scan("id = 1").to_arrow().num_rows == 0 and table.snapshots() == [] and table.delete() == 0


def test_earlier_states_are_read_and_not_changed(plain: Table) -> None:
    plain.append(rows(2))
    plain.call("create_tag", tag="two")
    before = datetime.fromtimestamp(plain.snapshots()[-1].time_millis / 1000, timezone.utc)
    plain.append(rows(3, 2))
    assert plain.at(1).scan().count() == plain.at("two").scan().count() == 2
    assert plain.at(2).scan().count() == plain.scan().count() == 5
    assert plain.at(timestamp=before).scan().count() == 2
    earlier = plain.at(1)
    for change in (partial(earlier.append, rows(1)), earlier.delete, partial(earlier.overwrite, rows(1))):
        with pytest.raises(errors.UnsupportedError, match="is read at an earlier state"):
            change()
    with pytest.raises(errors.NoSuchSnapshotError):
        plain.at(9)
    with pytest.raises(errors.InvalidInputError, match="a version or a timestamp"):
        plain.at()


def test_a_branch_is_read_and_written_apart(keyed: Table) -> None:
    keyed.append(rows(2))
    keyed.call("create_branch", branch="audit")
    branch = keyed.branch("audit")
    keyed.call("create_tag", tag="t")
    keyed.call("create_branch", branch="copy", tag="t")
    copy = keyed.branch("copy")
    branch.append(rows(1))
    copy.append(rows(3, 2))
    assert (keyed.scan().count(), branch.scan().count(), copy.scan().count()) == (2, 1, 5)
    assert keyed.branches() == ["audit", "copy"] and copy.name == "shop.keyed$branch_copy"
    with pytest.raises(errors.NotFoundError):
        keyed.branch("nosuch")


def test_changes_say_what_each_commit_did(catalog: Catalog, plain: Table) -> None:
    keyed = catalog.create_table(
        "shop.c", plain.schema, primary_key=["id"], options={"bucket": "1", "changelog-producer": "lookup"}
    )
    keyed.upsert([{"id": 1, "note": "a"}, {"id": 2, "note": "b"}])
    keyed.upsert([{"id": 1, "note": "A"}])
    keyed.delete("id = 2")
    found = keyed.changes(columns=["id", "note", "_change_type"]).to_arrow().to_pylist()
    assert sorted((r["id"], r["note"], r["_change_type"]) for r in found) == [
        (1, "A", "update_postimage"),
        (1, "a", "insert"),
        (1, "a", "update_preimage"),
        (2, "b", "delete"),
        (2, "b", "insert"),
    ]
    assert keyed.changes(where="id = 2").count() == 2
    plain.append(rows(2))
    plain.append(rows(1, 2))
    assert ids(plain.changes(2).to_arrow()) == [2] and ids(plain.changes(end=1).to_arrow()) == [0, 1]
    with pytest.raises(errors.NoSuchSnapshotError):
        plain.changes(7)


def test_system_tables_are_metadata(plain: Table) -> None:
    plain.append(rows(2))
    assert plain.metadata("snapshots")["snapshot_id"].to_pylist() == [1]
    assert plain.metadata("FILES").num_rows == 1
    with pytest.raises(errors.NotFoundError, match=r"no system table \$nosuch"):
        plain.metadata("nosuch")
