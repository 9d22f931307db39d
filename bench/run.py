"""Carry a run out: per environment all its engines together, work by work in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from bench.engines import BASE, ENVIRONMENTS, OURS, PLACES
from bench.environment import python_of
from bench.process import EngineError, EngineProcess
from bench.results import Contestant, Measured, Results
from bench.settings import Settings
from bench.works import in_turns, with_bases, with_needs

Say = Callable[[str], None]


def run(settings: Settings, engines: Iterable[str], works: Iterable[str], logs: Path, say: Say) -> Results:
    """Measure works on engines.

    The engines of an environment live at the same time and take turns sample by sample, so that what else the
    machine does meets all of them alike; an engine that waits takes no processor.

    Args:
        settings: the sizes.
        engines: names of engines.
        works: names of works; what must be done before them is measured too.
        logs: the folder for what the engines say.
        say: told what happens.
    """
    results = Results(settings)
    for environment, members in _by_environment(set(engines)).items():
        _run_environment(results, environment, members, list(works), logs, say)
    return results


def _by_environment(engines: set[str]) -> dict[str, list[str]]:
    # Parquet runs on a Spark for the sake of the others there, or of itself on ours.
    chosen = {place: [e for e in ENVIRONMENTS if e in engines and place in ENVIRONMENTS[e]] for place in PLACES}
    others = {place: members for place, members in chosen.items() if members not in ([], [BASE])}
    return others or ({OURS: [BASE]} if BASE in engines else {})


def _run_environment(
    results: Results, environment: str, engines: list[str], works: list[str], logs: Path, say: Say
) -> None:
    running: dict[Contestant, EngineProcess] = {}
    settings = replace(results.settings, scratch=results.settings.scratch / environment)
    try:
        python = python_of(environment)
    except EngineError as error:
        say(str(error))
        for engine in engines:
            results.fail(Contestant(engine, environment), "", str(error))
        return
    try:
        for engine in engines:
            who = Contestant(engine, environment)
            say(f"starting {who.title}")
            running[who] = EngineProcess(engine, python, settings, logs / f"{engine}-{environment}.log")
        for who, process in list(running.items()):
            try:
                process.wait_until_ready()
            except EngineError as error:
                say(f"{who.title}: {error}")
                results.fail(who, "", str(error))
                del running[who]
                continue
            results.versions[who] = process.version
        suite = results.suite
        bases = with_bases(works, suite)
        for turn in in_turns(with_needs({*works, *bases}, suite), suite):
            able = [
                (work, who)
                for work in turn
                for who, process in running.items()
                if (process.changes or work in bases) and suite[work].kind in process.kinds
            ]
            _run_turn(results, {(work, who): running[who] for work, who in able}, say)
    finally:
        for process in running.values():
            process.stop()


def _run_turn(results: Results, running: dict[tuple[str, Contestant], EngineProcess], say: Say) -> None:
    active = {}
    for (name, who), process in running.items():
        broken = [need for need in results.suite[name].needs if need in results.failures.get(who, {})]
        if broken:
            results.fail(who, name, f"not tried, because {broken[0]} failed")
            continue
        try:
            process.warm_up(name)
            active[name, who] = process
        except EngineError as error:
            say(f"{name}: {who.title}: {error}")
            results.fail(who, name, str(error))
    times = {name: results.suite[name].repetitions(results.settings.repetitions) for name, _ in active}
    for repetition in range(max(times.values(), default=0)):
        for (name, who), process in list(active.items()):
            if repetition >= times[name]:
                continue
            try:
                sample, seen = process.sample(name, repetition)
            except EngineError as error:
                say(f"{name}: {who.title}: {error}")
                results.fail(who, name, str(error))
                del active[name, who]
                continue
            results.add(who, Measured(name, repetition, **sample, **asdict(seen)))
    for name, who in active:
        say(f"{name}: {who.title}: {results.seconds(who, name):.3f} s")
