"""The programs beside the comparison of engines, where they need no Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench import limits, metadata, overview, sizes
from bench.dataset import COLUMNS, Dataset, column_list, one_row
from bench.engines import OURS
from bench.generate import dataset
from bench.results import Contestant, Measured, Results
from bench.settings import Settings
from bench.variants import VARIANTS
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.table.table import Table


@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_variant_of_the_input_has_its_columns_and_changes_distinct_keys(name: str, tmp_path: Path) -> None:
    made = dataset(tmp_path, 400, name)
    columns = len(COLUMNS) + len(VARIANTS[name].columns)
    orders = pq.read_table(made.orders)
    changed = pq.read_table(made.changes(3))["id"].to_pylist()
    assert orders.num_columns == columns
    assert sorted(orders["id"].to_pylist()) == list(range(400))
    assert len(set(changed)) == len(changed) == 20
    assert column_list(name).startswith("id BIGINT, ")
    assert one_row(1, name).startswith("CAST(1 AS BIGINT), ")


def test_skewed_changes_lie_in_few_keys(tmp_path: Path) -> None:
    changed = pq.read_table(dataset(tmp_path, 4000, "skewed").changes(0))["id"].to_numpy()
    assert (changed < 400).sum() == 180


@pytest.mark.parametrize("keyed", [False, True])
def test_a_table_of_metadata_alone_has_the_counts_of_its_shape(keyed: bool, tmp_path: Path) -> None:
    shape = metadata.Shape(files=60, snapshots=12, partitions=5, tags=3, columns=6, keyed=keyed)
    metadata.make(tmp_path / "many", shape)
    table = Table("many", str(tmp_path / "many"), LocalFileIO(), metadata.schema_of(shape))
    latest = table.snapshots.latest()
    assert latest is not None
    assert (latest.id, latest.total_record_count, len(table.tags.all())) == (12, 120, 3)
    assert list(tmp_path.rglob("bucket-*/*.parquet")) == []


def test_metadata_is_compared_with_the_small_table() -> None:
    small = metadata.Measured({"open": metadata.Seconds(0.5, 0.1)}, 1.0)
    many = metadata.Measured({"open": metadata.Seconds(0.9, 0.25)}, 1.5)
    text = metadata.table_of({"small": small, "files-1m": metadata.Measured.from_json(many.to_json())})
    assert "| open | 0.100 (0.50) | 0.250 (0.90) 2.5x |" in text
    assert "| peak memory, GiB | 1.0 | 1.5 |" in text


def test_sizes_are_compared_by_the_cost_of_a_row(tmp_path: Path) -> None:
    found = []
    for rows, seconds in ((1_000_000, 2.0), (4_000_000, 10.0)):
        results = Results(Settings(rows=rows, data=tmp_path, scratch=tmp_path))
        results.versions[Contestant("paimon", OURS)] = "paimon-sql"
        results.add(Contestant("paimon", OURS), Measured("load", 0, seconds, None, 2**30, 0.0))
        found.append(results)
    lines = sizes.table(found).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        "paimon-sql: primary key: bulk load",
        "2000",
        "1.25",
    ]


def test_limits_are_measured_on_the_input(tmp_path: Path) -> None:
    made: Dataset = dataset(tmp_path, 2000)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = limits.measure(sorted(made.orders.glob("*.parquet")), scratch)
    assert all(limit(found) > 0 for limit in limits.LIMITS.values())


def test_the_chart_of_the_first_page_names_the_works_and_engines_of_a_run(tmp_path: Path) -> None:
    results = Results(Settings(rows=1000, data=tmp_path, scratch=tmp_path))
    for engine, took in (("parquet", 1.0), ("paimon", 0.5)):
        results.versions[Contestant(engine, OURS)] = f"{engine} 1.0"
        results.add(Contestant(engine, OURS), Measured("scan", 0, took, None, None, None))
    results.write(tmp_path / "results.json")
    overview.draw(json.loads((tmp_path / "results.json").read_text()), tmp_path / "chart.svg")
    chart = (tmp_path / "chart.svg").read_text()
    assert "append: full scan" in chart and "paimon 1.0" in chart and "1,000 rows" in chart
    assert "parquet 1.0" not in chart and "DELETE" not in chart
