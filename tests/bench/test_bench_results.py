"""Ratios, the table and the plan of a run, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import environment
from bench.engines import OURS, PEERS
from bench.generate import dataset
from bench.process import EngineError
from bench.results import Contestant, Measured, Results
from bench.run import run
from bench.settings import Settings
from bench.table import table
from bench.works import WORKS, with_bases, with_needs

PAIMON = Contestant("paimon", OURS)
PARQUET = Contestant("parquet", OURS)
PEERS_PARQUET = Contestant("parquet", PEERS)
ICEBERG = Contestant("iceberg", PEERS)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty run."""
    return Results(Settings(rows=1000, repetitions=3, data=tmp_path, scratch=tmp_path))


def add(results: Results, who: Contestant, work: str, *seconds: float, answer: str = "", others: float = 0.0) -> None:
    """Keep samples of these seconds."""
    results.versions[who] = who.title
    for repetition, took in enumerate(seconds):
        results.add(who, Measured(work, repetition, took, answer or None, 2**30, others))


def test_a_ratio_is_of_medians_and_to_parquet_on_the_same_spark(results: Results) -> None:
    add(results, PARQUET, "scan", 1.0, 2.0, 9.0)
    add(results, PEERS_PARQUET, "scan", 4.0)
    add(results, PAIMON, "scan", 3.0, 1.0, 3.0)
    add(results, ICEBERG, "merged-scan", 8.0)
    assert results.ratio(PAIMON, "scan") == 1.5
    assert results.ratio(ICEBERG, "merged-scan") == 2.0


def test_expiry_is_measured_against_one_of_the_hundred_inserts(results: Results) -> None:
    add(results, PARQUET, "small-inserts", 10.0)
    add(results, PAIMON, "expire", 0.2)
    assert results.ratio(PAIMON, "expire") == pytest.approx(2.0)


def test_a_work_in_slices_is_their_sum(results: Results) -> None:
    add(results, PAIMON, "upsert", 1.0, 2.0, 9.0)
    assert results.seconds(PAIMON, "upsert") == 12.0


def test_a_work_that_failed_halfway_has_no_figure(results: Results) -> None:
    add(results, PAIMON, "upsert", 1.0, 2.0)
    results.fail(PAIMON, "upsert", "it broke")
    assert results.seconds(PAIMON, "upsert") is None


def test_without_parquet_there_is_no_ratio(results: Results) -> None:
    add(results, PAIMON, "scan", 3.0)
    assert results.ratio(PAIMON, "scan") is None


def test_different_answers_are_told(results: Results) -> None:
    add(results, PARQUET, "count", 1.0, answer="[(1000,)]")
    add(results, PAIMON, "count", 1.0, answer="[(999,)]")
    assert results.disagreements() == ["count"]
    assert "Different answers to count" in table(results)


def test_the_table_marks_noise_and_says_why_an_engine_is_missing(results: Results) -> None:
    add(results, PARQUET, "scan", 1.0)
    add(results, PAIMON, "scan", 3.0, others=1.2)
    results.fail(PAIMON, "count", "it broke")
    results.fail(ICEBERG, "", "the jar x:y:1 cannot be downloaded")
    text = table(results)
    assert "3.000~" in text
    assert "failed" in text
    assert "paimon-sql: count: it broke" in text
    assert "Iceberg: the jar x:y:1 cannot be downloaded" in text


def test_works_come_with_what_they_need_in_order() -> None:
    assert with_needs(["compacted-lookup"]) == ["load", "upsert", "compact", "compacted-lookup"]
    assert with_bases(["compacted-lookup", "upsert"]) == ["insert", "lookup"]


def test_every_work_is_measured_against_one_that_parquet_can_do() -> None:
    for name in with_bases(WORKS):
        assert name in {"insert", "scan", "group-by", "filter", "count", "lookup", "small-inserts"}


def test_an_environment_that_cannot_be_made_stands_in_its_engines_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*command: str) -> None:
        raise EngineError("the environment cannot be created: no such package")

    monkeypatch.setattr(environment, "_run", refuse)
    monkeypatch.setattr(environment, "_HOMES", tmp_path)
    settings = Settings(rows=10, repetitions=1, data=tmp_path, scratch=tmp_path)
    found = run(settings, ["delta", "iceberg"], ["scan"], tmp_path, lambda text: None)
    assert table(found).count("the environment cannot be created: no such package") == 2


def test_the_input_is_the_same_each_time_it_is_made(tmp_path: Path) -> None:
    one, other = dataset(tmp_path / "a", 500), dataset(tmp_path / "b", 500)
    files = sorted(p.relative_to(one.folder) for p in one.folder.rglob("*.parquet"))
    assert len(files) == 18
    for file in files:
        assert (one.folder / file).read_bytes() == (other.folder / file).read_bytes()
    assert one.expected() == other.expected()
    assert one.expected().rows == 500
    assert one.expected().quantity != one.expected().merged_quantity


def test_settings_survive_their_way_to_an_engine(results: Results) -> None:
    assert Settings.from_json(results.settings.to_json()) == results.settings
