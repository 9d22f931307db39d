"""What ``t$summary`` tells: figures against files on disk and other system tables, and when it gives advice."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.expressions.predicates import Comparison, StartsWith
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.snapshots import retained_size
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import system_tables
from paimon_sql.system_tables.files import summary
from paimon_sql.system_tables.formatting import size_text
from tests.storage.small_tables import compact, fresh, insert, make_table, overwrite

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"
ALL = Retention(max=1, min=1, older_than_millis=2**62, limit=1000)


def figures(table: Table) -> dict[str, float | None]:
    """The numbers by metric."""
    return {metric: number for metric, (number, _) in rows(table).items()}


def advice(table: Table, metric: str) -> str | None:
    """What is advised on a metric."""
    return rows(table)[metric][1]


def rows(table: Table) -> dict[str, tuple[float | None, str | None]]:
    system_table = system_tables()["summary"]
    found = system_table.rows(replace(table).with_options({"x": "y"}))
    assert found.schema == arrow_schema(system_table.columns)
    kept = {r["metric"]: (r["number"], r["advice"]) for r in found.to_pylist()}
    assert len(kept) == len(found)
    return kept


def data_bytes(table: Table) -> int:
    """The bytes of all data and changelog files on disk."""
    found = Path(table.path).rglob("bucket-*/*")
    return sum(p.stat().st_size for p in found if p.name.startswith(("data-", "changelog-")))


def test_an_empty_table_has_no_figures_to_speak_of(tmp_path: Path) -> None:
    found = rows(make_table(tmp_path / "t", primary_keys=("id",)))
    assert {number for number, _ in found.values()} == {0}
    assert {advised for _, advised in found.values()} == {None}


def test_sorted_runs_are_files_of_level_0_and_deeper_levels(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=("id", "p"), partition_keys=("p",))
    insert(table, (1, "a", "x"))
    compact(table)
    for i in range(3):
        insert(table, (i, "a", "x"))
    insert(table, (1, "a", "y"))
    found = figures(table)
    assert (found["mean_sorted_runs"], found["max_sorted_runs"]) == (2.5, 4)
    assert (found["partitions"], found["buckets"], found["files"], found["levels"]) == (2, 2, 5, 2)
    assert advice(table, "max_sorted_runs") is None
    insert(table, (1, "b", "x"))
    assert advice(table, "max_sorted_runs") == (
        "1 bucket has 5 or more sorted runs to merge on read: CALL sys.compact(table => 't')"
    )
    compact(table)
    assert figures(table)["mean_sorted_runs"] == 1


def test_small_files_of_append_tables_are_to_be_put_together(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", options={"bucket": "-1"})
    for i in range(4):
        insert(table, (i, "a", "x"))
    assert (figures(table)["small_files"], advice(table, "small_files")) == (4, None)
    insert(table, (5, "a", "x"))
    assert "1 bucket has 5 or more files below 179.2 MiB" in str(advice(table, "small_files"))
    assert advice(fresh(table, **{"target-file-size": "100 b"}), "small_files") is None
    assert "levels" not in figures(table)


def test_deleted_records_are_advised_on_from_the_tables_ratio_on() -> None:
    table = golden_table("dv_append_32")
    found = figures(table)
    assert found["deleted_records"]
    share = found["deleted_records"] / (found["records"] or 1)
    assert "are read but deleted" in str(
        advice(fresh(table, **{"compaction.delete-ratio-threshold": "0"}), "deleted_records")
    )
    assert advice(fresh(table, **{"compaction.delete-ratio-threshold": f"{share + 0.01}"}), "deleted_records") is None


def test_files_that_reads_do_not_see_yet_are_advised_on(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=("id",), options={"merge-engine": "first-row"})
    insert(table, (1, "a", "x"))
    assert advice(table, "levels") == "1 file of level 0 cannot be read yet: CALL sys.compact(table => 't')"
    compact(table)
    assert advice(table, "levels") is None


def test_snapshots_past_their_time_and_consumers_that_hold_them_are_told(tmp_path: Path) -> None:
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    table = make_table(tmp_path / "t", options={"bucket": "-1", **options})
    for i in range(6):
        insert(table, (i, "a", "x"))
    assert figures(table)["snapshots"] == 6
    assert advice(table, "snapshots") == "4 can expire by the table's options: CALL sys.expire_snapshots(table => 't')"
    table.consumers.reset("slow", 2)
    assert "1 can expire" in str(advice(table, "snapshots"))
    assert "3 snapshots are retained for consumer 'slow' at snapshot 2" in str(advice(table, "consumers"))
    assert (figures(table)["oldest_snapshot"], figures(table)["newest_snapshot"]) == (1, 6)
    lost = fresh(table, **{"snapshot.num-retained.min": "9"})
    assert "snapshot.num-retained.min" in str(advice(lost, "snapshots"))


def test_many_small_manifests_are_to_be_merged(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", options={"bucket": "-1"})
    for i in range(2):
        insert(table, (i, "a", "x"))
    assert (figures(table)["manifests"], advice(table, "manifests")) == (2, None)
    assert advice(fresh(table, **{"manifest.merge-min-count": "1"}), "manifests") == (
        "2 are below 8.0 MiB: CALL sys.compact_manifest(table => 't')"
    )


@pytest.mark.parametrize("seed", range(4))
def test_every_byte_on_disk_counts_once(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    outlives = {"changelog.num-retained.max": "2147483647", "changelog.num-retained.min": "100"} if seed % 2 else {}
    options = {"changelog-producer": "input", **outlives} if seed < 3 else outlives
    table = make_table(tmp_path / "t", primary_keys=("id",), options=options)
    for i in range(25):
        table = fresh(table)
        match dice.choice(["insert", "insert", "overwrite", "compact", "tag", "expire"]):
            case "insert":
                insert(table, (dice.randrange(9), "v" * dice.randrange(200), "x"))
            case "overwrite":
                overwrite(table, (dice.randrange(9), "w", "x"))
            case "compact" if table.snapshots.latest_id():
                compact(table)
            case "tag" if table.snapshots.latest_id():
                create_tag(table, f"tag{i}", None, timedelta(days=1))
            case "expire":
                expire_snapshots(table, replace(ALL, max=dice.choice([1, 3]), older_than_millis=0))
        found = figures(table)
        held = [found[f"{what}_size"] or 0 for what in ("live", "older_snapshots", "tags", "changelogs")]
        assert sum(held) == data_bytes(table)
        assert found["total_size"] == sum(held) + (found["index_size"] or 0) + (found["metadata_size"] or 0)


def test_work_is_bounded_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", primary_keys=("id",))
    for i in range(4):
        overwrite(table, (i, "a", "x"))
        create_tag(table, f"tag{i}", None)
    whole = figures(table)["older_snapshots_size"] or 0
    monkeypatch.setattr(retained_size, "MAX_SNAPSHOTS", 2)
    text = {r["metric"]: r["value"] for r in system_tables()["summary"].rows(fresh(table)).to_pylist()}
    assert 0 < (figures(table)["older_snapshots_size"] or 0) < whole
    assert text["older_snapshots_size"].startswith("at least ")
    assert text["total_size"].startswith("at least ")
    assert not text["tags_size"].startswith("at least ")


def test_space_is_worked_out_only_for_those_who_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", options={"bucket": "-1"})
    insert(table, (1, "a", "x"))
    space = Comparison("metric", "=", pa.scalar("tags_size"))
    asked = system_tables()["summary"].rows(fresh(table), space)
    assert "tags_size" in asked["metric"].to_pylist()
    monkeypatch.delattr(summary, "held_space")
    spared = system_tables()["summary"].rows(fresh(table), StartsWith("metric", "file"))
    assert "files" in spared["metric"].to_pylist()
    with pytest.raises(NameError):
        system_tables()["summary"].rows(fresh(table), StartsWith("metric", "t"))


def golden_table(name: str) -> Table:
    case = GOLDEN / name
    if not case.exists():
        pytest.skip("the golden tables are not here")
    database, table = json.loads((case / "expected.json").read_text())["table"].split(".")
    path = str(case / "warehouse" / f"{database}.db" / table)
    schema = SchemaManager(LocalFileIO(), path).latest()
    assert schema is not None
    return Table(f"golden.{database}.{table}", path, LocalFileIO(), schema)


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden tables are not here")
def test_figures_of_the_connectors_tables_agree_with_their_files() -> None:
    for case in sorted(p.parent for p in GOLDEN.glob("*/expected.json")):
        table = golden_table(case.name)
        found, files = figures(table), system_tables()["files"].rows(fresh(table))
        told = (found["files"], found["records"], found["live_size"])
        sums = [pc.sum(files[c]).as_py() or 0 for c in ("record_count", "file_size_in_bytes")]
        assert told == (len(files), *sums) or "postponed_files" in found, case.name


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (2**40, "1.0 TiB"), (2**75, "32,768.0 EiB")],
)
def test_sizes_are_read_in_their_largest_unit(size: int, text: str) -> None:
    assert size_text(size) == text


def test_the_documentation_tells_what_every_figure_is(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "system-tables.md").read_text()
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    table = make_table(tmp_path / "t", primary_keys=("id",))
    insert(table, (1, "a", "x"))
    assert told == {*figures(table), "postponed_files"}
