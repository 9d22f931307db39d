"""Java leaves out files and rows by the indexes that we make, and we by those that Java makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.data_files.pruning.file_indexes import held_indexes
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table

from .java import JavaPaimon

KINDS = {
    "bloom-filter": "'file-index.bloom-filter.v.items' = '50', 'file-index.bloom-filter.n.items' = '50'",
    "bitmap": "'file-index.bitmap.n.version' = '2'",
    "bitmap of version 1": "'file-index.bitmap.n.version' = '1', 'file-index.bitmap.v.version' = '1'",
    "bsi": "",
    "range-bitmap": "'file-index.range-bitmap.v.chunk-size' = '10 b'",
}
PLACES = {"inside": "1 mb", "beside": "1 b"}
VALUES = [
    (first + i, None if i == 3 else f"t{(first + i) % 4}", None if i == 4 else (i * 7 + first) % 23 - 3)
    for first in (0, 10, 20)
    for i in range(10)
]
QUESTIONS: dict[str, tuple[str, Callable[[str | None, int | None], bool]]] = {
    "n = 5": ("n\t=\t5", lambda v, n: n == 5),
    "n = -2": ("n\t=\t-2", lambda v, n: n == -2),
    "n = 100": ("n\t=\t100", lambda v, n: n == 100),
    "n < 0": ("n\t<\t0", lambda v, n: n is not None and n < 0),
    "n >= 18": ("n\t>=\t18", lambda v, n: n is not None and n >= 18),
    "n != 4": ("n\t!=\t4", lambda v, n: n is not None and n != 4),
    "n IS NULL": ("n\tis\t0", lambda v, n: n is None),
    "v = 't1'": ("v\t=\tt1", lambda v, n: v == "t1"),
    "v = 't9'": ("v\t=\tt9", lambda v, n: v == "t9"),
}


def table_of(spark: SparkSession, name: str, kind: str, size: str) -> None:
    word = kind.split(" ")[0]
    settings = f", {KINDS[kind]}" if KINDS[kind] else ""
    spark.sql(
        f"CREATE TABLE {name} (id INT, v STRING, n BIGINT, m MAP<STRING, INT>) TBLPROPERTIES ("
        f"'file-index.{word}.columns' = '{'n' if word == 'bsi' else 'v,n'},m[a]',"
        f" 'file-index.in-manifest-threshold' = '{size}'{settings})"
    )


def opened(warehouse: Path, name: str) -> Table:
    return FileSystemCatalog("paimon", {"warehouse": str(warehouse)}).table(Identifier("default", name))


def bodies_of(warehouse: Path, name: str) -> dict[tuple[str, str], bytes]:
    """The bytes of a table's indexes by data file and column."""
    table = opened(warehouse, name)
    found: dict[tuple[str, str], bytes] = {}
    for e in entries(live_files(table, table.snapshots.latest()).entries):
        with held_indexes(table, e.partition, e.bucket, e.file) as held:
            assert held is not None
            found |= {(e.file.file_name, p.column): held.read(p.start, p.length) for p in held.places}
    return found


@pytest.mark.parametrize("place", PLACES)
def test_java_leaves_out_rows_by_our_indexes(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, tmp_path: Path, place: str
) -> None:
    names = {kind: f"default.ours_{i}_{place}" for i, kind in enumerate(KINDS)}
    for kind, name in names.items():
        table_of(spark, name, kind, PLACES[place])
        for first in (0, 10, 20):
            rows = [Row(*row, {"a": row[0]}) for row in VALUES[first : first + 10]]
            spark.createDataFrame(rows, "id INT, v STRING, n BIGINT, m MAP<STRING, INT>").coalesce(1).writeTo(
                name
            ).append()
    asked = [(kind, name, text, wanted) for kind, name in names.items() for text, wanted in QUESTIONS.values()]
    questions = tmp_path / "questions"
    questions.write_text("\n".join(f"{name}\t{text}" for _, name, text, _ in asked))
    answers = java.filtered(warehouse, questions)
    left_out: dict[str, int] = {}
    for (kind, _, text, wanted), (_, rows) in zip(asked, answers, strict=True):
        right = {i for i, v, n in VALUES if wanted(v, n)}
        assert right <= set(rows), (kind, text)
        left_out[kind] = left_out.get(kind, 0) + len(VALUES) - len(rows)
        if kind == "range-bitmap":
            assert right == set(rows), text
    assert min(left_out.values()) > 60


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_we_leave_out_rows_by_javas_indexes(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, kind: str, place: str
) -> None:
    name = f"theirs_{list(KINDS).index(kind)}_{place}"
    table_of(spark, f"default.{name}", kind, PLACES[place])
    for first in (0, 10, 20):
        java.write(warehouse, f"default.{name}", [[*row, [["a", row[0]]]] for row in VALUES[first : first + 10]])
    for condition, (_, wanted) in QUESTIONS.items():
        found = {r[0] for r in spark.sql(f"SELECT id FROM default.{name} WHERE {condition}").collect()}
        assert found == {i for i, v, n in VALUES if wanted(v, n)}, condition
    metrics = plan_scan(opened(warehouse, name), Comparison("n", "=", pa.scalar(5, pa.int64()))).metrics
    assert (metrics.files_read, metrics.files) == (1, 3)
    indexes = f"SELECT DISTINCT column_name, index_type, storage_type FROM default.`{name}$file_indexes`"
    assert {tuple(r) for r in spark.sql(indexes).collect()} == {
        (column, kind.split(" ")[0], "EMBEDDED" if place == "inside" else "FILE")
        for column in (["n", "m[a]"] if kind == "bsi" else ["v", "n", "m[a]"])
    }
    before = bodies_of(warehouse, name)
    spark.sql(f"CALL sys.rewrite_file_index('default.{name}')").collect()
    after = bodies_of(warehouse, name)
    # Java puts the bitmaps of values in the order of a hash table.
    assert after == before or (kind.startswith("bitmap") and sizes(after) == sizes(before))


def sizes(bodies: dict[tuple[str, str], bytes]) -> dict[tuple[str, str], int]:
    return {place: len(body) for place, body in bodies.items()}
