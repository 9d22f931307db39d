"""The fault model: some rounds of it, and the model itself."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

from paimon_sql.storage.metadata.numbered_files import NumberedDirectory
from tests.faults.disk import Disk
from tests.faults.file_system import FaultyFileIO
from tests.faults.layers import LAYERS
from tests.faults.mutations import MUTATIONS, Mutation
from tests.faults.report import Report, Round, details
from tests.faults.tables import KINDS, place
from tests.faults.world import Result, plan_round, play

APPEND = tuple(name for name, kind in KINDS.items() if not kind.keys)
MERGED = ("partial update", "aggregation", "aggregation changelog", "first row")
KEYED = tuple(name for name, kind in KINDS.items() if kind.keys and name not in MERGED)
ROUNDS = 30
CAUGHT_SEEDS = range(515, 600)


@pytest.mark.parametrize(
    ("kinds", "first"), [(APPEND, 100_000), (KEYED, 200_000), (MERGED, 300_000)], ids=["append", "keyed", "merged"]
)
def test_rounds_of_parties_and_faults_lose_invent_and_double_no_row(
    tmp_path: Path, kinds: tuple[str, ...], first: int
) -> None:
    results = [play(seed, tmp_path, kinds) for seed in range(first, first + ROUNDS)]
    wrong = [f"{result.plan}: {what}" for result in results for what in result.violations]
    assert not wrong, "\n".join(wrong)
    outcomes = {outcome for result in results for _, outcome in result.operations}
    assert outcomes == {"acknowledged", "refused", "unknown"}
    assert len({fault for result in results for fault in result.faults}) > 5
    assert {result.plan.kind.name for result in results} == set(kinds)


def test_a_seed_takes_the_same_way_again(tmp_path: Path) -> None:
    seed = next(s for s in range(1000) if plan_round(s).strategy == "random" and plan_round(s).faults)
    first, again = (play(seed, tmp_path) for _ in range(2))
    assert first.log and first.log == again.log
    assert (first.steps, first.handovers, first.faults) == (again.steps, again.handovers, again.faults)


def test_seeds_plan_all_strategies_stores_operations_and_faults() -> None:
    plans = [plan_round(seed) for seed in range(2000)]
    assert {p.strategy for p in plans} == {"serial", "random", "priorities", "suspensions"}
    assert {p.store for p in plans} == {"disk", "remote", "locked"}
    assert {p.kind.name for p in plans} == set(KINDS)
    assert any(p.power for p in plans)


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=list(MUTATIONS))
def test_a_mutation_changes_what_there_is(mutation: Mutation) -> None:
    for target, replacement in mutation.patches.items():
        assert resolve_name(target) is not replacement


def _caught(mutation: Mutation, folder: Path) -> Result:
    with mutation.applied():
        for seed in CAUGHT_SEEDS:
            result = play(seed, folder, ("append",))
            if result.violations:
                return result
    raise AssertionError(f"{mutation.name} was not noticed")


def test_a_repair_that_is_taken_out_is_noticed_and_its_seed_shows_it_again(tmp_path: Path) -> None:
    mutation = MUTATIONS["a snapshot is not looked for after its creation"]
    result = _caught(mutation, tmp_path)
    with mutation.applied():
        assert play(result.plan.seed, tmp_path, ("append",)).violations == result.violations
    assert play(result.plan.seed, tmp_path, ("append",)).violations == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_names_what_there_is_and_is_taken_back(name: str) -> None:
    before = dict(vars(NumberedDirectory)), dict(vars(FaultyFileIO))
    with MUTATIONS[name].applied():
        pass
    assert (dict(vars(NumberedDirectory)), dict(vars(FaultyFileIO))) == before


def test_a_report_says_operations_faults_outcomes_and_how_to_replay() -> None:
    report = Report(seconds={"turns": 2.0})
    report.add(
        Round(
            "turns", 7, "plan", [], {"insert:acknowledged": 3, "insert:refused": 1}, {"power loss": 1}, {"commits": 3}
        )
    )
    report.add(Round("turns", 8, "plan", ["a row is lost"], {"insert:unknown": 1}, {}, {"commits": 1}, ["0: begins"]))
    lines = list(report.lines())
    text = " ".join(" ".join(lines).split())
    assert "turns: 2 rounds in 2 s: 4 commits" in text
    assert "insert 3 1 1" in text
    assert "all 3 1 1" in text
    assert "power loss 1" in text
    assert "violations: 1 - turns, seed 8: a row is lost" in text
    said = list(details(report.failed[0]))
    assert said[-1].strip() == "replay: python -m tests.faults --layer turns --seed 8 --rounds 1"
    assert any("0: begins" in line for line in said)


def test_the_command_plays_and_ends_with_the_number_of_violations() -> None:
    command = [sys.executable, "-m", "tests.faults", "--layer", "turns", "--seed", "3", "--rounds", "2"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "turns: 2 rounds" in done.stdout
    assert done.stdout.rstrip().endswith("violations: 0")


def test_a_layer_answers_with_a_round_that_json_can_hold(tmp_path: Path) -> None:
    one = LAYERS["turns"].play(4, tmp_path)
    assert Round(**one.stored()) == one
    assert one.figures["file operations"] > 0
    assert not list(tmp_path.iterdir())


def test_what_was_not_flushed_is_lost_with_the_power(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    place(root).mkdir(parents=True)
    disk = Disk(root, tmp_path / "safe")
    with disk.watched():
        disk.settle()
        (root / "flushed").write_bytes(b"1")
        disk.settle()
        (root / "new").write_bytes(b"2")
        (root / "flushed").unlink()
        disk.forget(str(root / "flushed"))
        everything = next(n for n in range(100) if random.Random(n).choice(["all", "new", "some", "content"]) == "all")
        assert disk.fail(random.Random(everything)) == "all"
    assert (root / "flushed").read_bytes() == b"1"
    assert not (root / "new").exists()
