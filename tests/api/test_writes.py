"""Writes of the Python API: what is written, what is refused, and that each is one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.rows import ArrowLike
from paimon_sql.api.table import Table
from tests.api.test_reads import ids, rows

TWO = pa.table({"id": [1, 2], "note": ["a", None]})
SOURCES: dict[str, Callable[[], ArrowLike]] = {
    "table": lambda: TWO,
    "batch": lambda: TWO.to_batches()[0],
    "reader": TWO.to_reader,
    "dictionaries": TWO.to_pylist,
    "pandas": lambda: pd.DataFrame({"id": np.array([1, 2]), "note": ["a", None]}),
    "other order and types": lambda: pa.table({"note": pa.array(["a", None], pa.large_string()), "id": [1.0, 2.0]}),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_rows_come_as_any_arrow_data(request: pytest.FixtureRequest, kind: str, source: str) -> None:
    table: Table = request.getfixturevalue(kind)
    table.append(rows(1, 5))
    given = SOURCES[source]()
    if kind == "keyed":
        made = pa.RecordBatchReader.from_stream(given).read_all() if not isinstance(given, list) else pa.table(TWO)
        given = made.append_column("day", pa.array(["x", "x"]))
    assert table.append(given) == 2
    found = table.scan("id < 5", ["id", "note", "amount"]).to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 1, "note": "a", "amount": None}, {"id": 2, "note": None, "amount": None}]


def test_an_upsert_replaces_rows_of_the_key(keyed: Table, plain: Table) -> None:
    keyed.upsert(rows(4))
    keyed.upsert([{"id": 2, "day": "c", "note": "new"}])
    assert keyed.scan("id = 2", ["note", "amount"]).to_arrow().to_pylist() == [{"note": "new", "amount": None}]
    assert keyed.scan().count() == 4
    with pytest.raises(errors.UnsupportedError, match="has no primary key"):
        plain.upsert(rows(1))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([{"id": 1, "nosuch": 2}], "has no column 'nosuch'"),
        ([{"id": "x"}], "do not fit"),
        ([{"id": 2**70}], "do not fit"),
        ("text", "cannot be written"),
        (7, "cannot be written"),
        (pa.table([[1], [2]], ["id", "id"]), "a column twice"),
        (pa.table({"id": ["x"]}), "id"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_leave_nothing(plain: Table, given: ArrowLike, says: str) -> None:
    plain.append(rows(1))
    before = sorted(p for p in Path(plain.path).rglob("*") if p.is_file())
    with pytest.raises(errors.PaimonError, match=says):
        plain.append(given)
    assert sorted(p for p in Path(plain.path).rglob("*") if p.is_file()) == before
    assert plain.scan().count() == 1


def test_a_null_key_is_refused(keyed: Table) -> None:
    with pytest.raises(errors.PaimonError, match="day"):
        keyed.upsert([{"id": 1}])
    assert keyed.snapshots() == []


def test_an_overwrite_replaces_what_it_names(keyed: Table) -> None:
    keyed.append(rows(9))
    keyed.overwrite([{"id": 100, "day": "a"}], "day = 'a'")
    assert ids(keyed.to_arrow()) == [1, 2, 4, 5, 7, 8, 100]
    keyed.overwrite([{"id": 101, "day": "b"}], dynamic=True)
    assert ids(keyed.to_arrow()) == [2, 5, 8, 100, 101]
    with pytest.raises(errors.InvalidInputError, match="partition day=b"):
        keyed.overwrite([{"id": 102, "day": "b"}], "day = 'a'")
    with pytest.raises(errors.InvalidInputError, match="id is not a partition column"):
        keyed.overwrite([{"id": 102, "day": "b"}], "id = 1")
    assert ids(keyed.to_arrow()) == [2, 5, 8, 100, 101]
    keyed.overwrite([])
    assert keyed.scan().count() == 0 and keyed.at(1).scan().count() == 9


ENGINES: list[tuple[str, dict[str, str]]] = [
    ("append", {}),
    ("append vectors", {"deletion-vectors.enabled": "true", "bucket": "-1"}),
    ("tracked", {"row-tracking.enabled": "true"}),
    (
        "evolving",
        {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"},
    ),
    ("keyed", {"bucket": "2"}),
    ("dynamic buckets", {}),
    ("postponed", {"bucket": "-2"}),
    ("vectors", {"bucket": "2", "deletion-vectors.enabled": "true"}),
    ("lookup", {"bucket": "1", "changelog-producer": "lookup"}),
    ("partial update", {"bucket": "1", "merge-engine": "partial-update"}),
    ("first row", {"bucket": "1", "merge-engine": "first-row"}),
]
BY_KEY = [(kind, options) for kind, options in ENGINES if not kind.startswith(("append", "tracked", "evolving"))]


def filled(catalog: Catalog, plain: Table, kind: str, options: dict[str, str]) -> Table:
    """A table with twenty rows in two commits."""
    keys = ["id"] if (kind, options) in BY_KEY else []
    table = catalog.create_table("shop.t", plain.schema, primary_key=keys, options=options)
    for first in (0, 10):
        table.append(rows(10, first))
    if kind in ("postponed", "first row"):
        table.call("compact")
    return table


@pytest.mark.parametrize(("kind", "options"), ENGINES, ids=[kind for kind, _ in ENGINES])
def test_a_delete_leaves_the_other_rows(catalog: Catalog, plain: Table, kind: str, options: dict[str, str]) -> None:
    table = filled(catalog, plain, kind, options)
    assert table.delete("id BETWEEN 5 AND 12") == 8
    assert table.delete("id BETWEEN 5 AND 12") == 0
    assert table.delete("note IS NULL") == 2
    if kind == "postponed":
        table.call("compact")
    wanted = [r["id"] for r in rows(20) if not 5 <= r["id"] <= 12 and r["note"] is not None]
    assert ids(table.to_arrow()) == wanted and table.scan().count() == len(wanted)
    table.call("compact")
    assert ids(table.to_arrow()) == wanted
    assert table.delete() == len(wanted) and table.scan().count() == 0


def test_whole_partitions_are_deleted_by_metadata(keyed: Table) -> None:
    keyed.append(rows(9))
    assert keyed.delete("day <> 'b'") == 6
    assert ids(keyed.to_arrow()) == [1, 4, 7]
    assert keyed.snapshots()[-1].delta_record_count == -6


def test_writers_at_the_same_time_lose_nothing(catalog: Catalog, keyed: Table) -> None:
    def write(number: int) -> None:
        own = catalog.table("shop.keyed")
        for i in range(3):
            own.upsert([{"id": 10 * number + i, "day": "a"}])
        own.delete(f"id = {10 * number}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids(keyed.to_arrow()) == sorted(10 * n + i for n in range(4) for i in (1, 2))


def test_tables_that_are_filled_otherwise_are_not_written(catalog: Catalog, tmp_path: Path) -> None:
    options = {"type": "object-table", "object-location": str(tmp_path)}
    made = catalog.create_table("shop.files", pa.schema([]), options=options)
    with pytest.raises(errors.UnsupportedError, match="object table"):
        made.append([{"path": "x"}])
    with pytest.raises(errors.UnsupportedError, match="has no snapshots"):
        catalog.create_table("shop.csv", pa.schema([("a", pa.int64())]), options={"type": "format-table"})
    assert catalog.tables("shop") == ["files"]
