"""TPC-H and TPC-DS: the plan of a run and its table without Spark; with DuckDB's extensions, a small run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.engines import OURS
from bench.results import Contestant, Measured, Results
from bench.settings import Settings
from bench.tpc.benchmarks import BENCHMARKS, TPC_DS, TPC_H
from bench.tpc.generate import tpc_input
from bench.tpc.input import UPSERTS, Input
from bench.tpc.table import tpc_table
from bench.works import SUITES, in_turns, with_bases, with_needs
from bench.works.tpc import answer_of

PROJECT = Path(__file__).resolve().parents[2]
PAIMON, PARQUET = Contestant("paimon", OURS), Contestant("parquet", OURS)
TINY = 0.001


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A run in which two queries took twice and three times as long by key as on Parquet."""
    results = Results(Settings(data=tmp_path, suite=TPC_H.name, scale=TINY))
    for who in (PAIMON, PARQUET):
        results.versions[who] = who.title
    for query, slower in (("q1", 2.0), ("q6", 3.0)):
        results.add(PARQUET, Measured(query, 0, 1.0, "1", None, 0.0, 0.1, 4.0))
        results.add(PAIMON, Measured(query, 0, 1.0, "1", None, 0.0, 0.1, 4.0))
        results.add(PAIMON, Measured(f"keyed-{query}", 0, slower, "1", None, 0.0, 0.2, 6.0))
    return results


def test_every_query_is_measured_on_plain_tables_and_after_upserts_against_plain_parquet() -> None:
    for benchmark in BENCHMARKS.values():
        works = SUITES[benchmark.name]
        assert len(works) == 2 + 2 * benchmark.queries
        assert with_bases(works, works) == [name for name in works if not name.startswith("keyed-")]
    works = SUITES[TPC_DS.name]
    assert with_needs(["keyed-q99"], works) == ["keyed-load", "keyed-q99"]
    assert in_turns(["load", "q1", "keyed-q1", "q2"], works) == [["load"], ["q1", "keyed-q1"], ["q2"]]


def test_the_table_says_the_median_and_the_worst_of_each_kind(results: Results) -> None:
    text = tpc_table(results, TPC_H)
    assert "paimon-sql, append: median 1.00 of 2 queries (target 1.05)" in text
    assert "paimon-sql, keyed: median 2.50 of 2 queries (target 1.15), all together 2.50" in text
    assert "processor time 1.50, worst q6 3.00; above 1.5: q1 2.00, q6 3.00." in text
    assert "TPC-H at scale 0.001" in text


def test_answers_after_upserts_are_to_be_those_of_parquet(results: Results) -> None:
    assert results.disagreements() == []
    results.add(PAIMON, Measured("keyed-q13", 0, 1.0, "2", None, 0.0))
    results.add(PARQUET, Measured("q13", 0, 1.0, "1", None, 0.0))
    assert results.disagreements() == ["q13"]


def test_kinds_that_nobody_measured_have_no_columns(results: Results) -> None:
    results.samples[PAIMON] = [m for m in results.samples[PAIMON] if not m.work.startswith("keyed-")]
    assert "keyed" not in tpc_table(results, TPC_H)


def test_an_answer_is_the_same_in_any_order_and_for_sums_in_any_order() -> None:
    rows = [(1, 0.1 + 0.2, None), (2, 1e300, "a")]
    assert answer_of(rows) == answer_of([rows[1], (1, 0.3, None)])
    assert answer_of(rows) != answer_of([rows[1], (1, 0.3001, None)])
    assert answer_of(rows) != answer_of(rows[:1])
    assert answer_of([(None,)]) != answer_of([("None",)])


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_upserts_overlap_and_lead_to_the_rows_that_parquet_has(tmp_path: Path, benchmark: Any) -> None:
    pytest.importorskip(f"duckdb_extension_{benchmark.name}")
    made = tpc_input(tmp_path, benchmark, 0.01 if benchmark is TPC_DS else TINY)
    assert {table.name for table in made.tables()} == set(benchmark.keys)
    assert all(made.query(number).strip() for number in benchmark.numbers)
    (table,) = [t for t in made.tables() if t.name in ("lineitem", "store_sales")]
    final = _by_key(made.rows(table.name), table.key)
    held = _by_key(made.stale(table.name), table.key)
    assert len(final) == table.rows and held.keys() == final.keys() and held != final
    brought: list[set[tuple[Any, ...]]] = []
    for upsert in range(UPSERTS):
        changes = _by_key(made.changes(table.name, upsert), table.key)
        brought.append(set(changes))
        held |= changes
    assert held == final
    assert any(a & b for i, a in enumerate(brought) for b in brought[:i])


def _by_key(folder: Path, key: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = pq.read_table(folder).to_pylist()
    found = {tuple(row[column] for column in key): row for row in rows}
    assert len(found) == len(rows)
    return found


def test_queries_run_on_both_and_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("duckdb_extension_tpch")
    command = [sys.executable, "-m", "bench.tpc", "--scale", str(TINY), "--queries", "6,13", "--repetitions", "1"]
    folders = ["--data", str(tmp_path / "data"), "--scratch", str(tmp_path), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *folders], cwd=PROJECT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    ours, parquet = ({c["engine"]: c for c in found["contestants"]}[e]["works"] for e in ("paimon", "parquet"))
    assert list(ours) == ["load", "keyed-load", "q6", "keyed-q6", "q13", "keyed-q13"]
    assert list(parquet) == ["load", "q6", "q13"]
    answers = [works[name]["samples"][0]["answer"] for works in (ours, parquet) for name in works if "q13" in name]
    assert len(set(answers)) == 1 and not answers[0].startswith("0 rows")
    assert found["disagreements"] == []
    assert "| q13 " in (tmp_path / "out" / "table.md").read_text()


def test_without_the_generator_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.tpc.__main__ import main

    monkeypatch.setitem(sys.modules, "duckdb_extension_tpch", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    said: list[str] = []
    monkeypatch.setattr("bench.tpc.__main__.sayer", lambda: said.append)
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "pip install -e '.[bench]'" in said[-1]
    assert not Input(tmp_path).tables_file.exists()
