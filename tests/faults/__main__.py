"""``python -m tests.faults --minutes 5 [--seed 1] [--processes 2]``: play, and say what happened.

Ends with 0 if nothing was wrong, with 1 otherwise. Every violation names the seed that shows it again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.faults.coordinator import Run, new_seed, play_rounds, run
from tests.faults.layers import LAYERS, Turns
from tests.faults.mutations import MUTATIONS
from tests.faults.processes import layer as processes_layer  # noqa: F401
from tests.faults.spark import layer as spark_layer  # noqa: F401


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="The fault model.")
    parser.add_argument("--minutes", type=float, default=1, help="how long to play")
    parser.add_argument("--seed", type=int, help="the seed of the first round; a new one by default")
    parser.add_argument("--processes", type=int, default=1, help="how many processes play at once")
    parser.add_argument("--layer", action="append", choices=list(LAYERS), help="play in this layer only")
    parser.add_argument("--rounds", type=int, help="how many rounds at most")
    parser.add_argument(
        "--mutations",
        nargs="*",
        metavar="NAME",
        help="take repairs out one by one, all or those whose names hold NAME, and say how soon the model noticed",
    )
    parser.add_argument("--play", choices=list(LAYERS), help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--mutation", choices=list(MUTATIONS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        arguments = (given.play, given.seed, given.step, given.seconds, given.rounds, given.folder)
        if given.mutation:
            mutation, turns = MUTATIONS[given.mutation], LAYERS["turns"]
            assert isinstance(turns, Turns)
            turns.kinds, turns.focus = mutation.kinds, mutation.focus
            with mutation.applied():
                play_rounds(*arguments)
        else:
            play_rounds(*arguments)
        return 0
    seed = new_seed() if given.seed is None else given.seed
    wanted = Run(given.minutes, seed, given.processes, tuple(given.layer or ()), given.rounds)
    if given.mutations is not None:
        return mutate(wanted, given.mutations)
    print(f"seed {seed}, {given.processes} processes, {given.minutes} minutes", flush=True)
    report = run(wanted)
    print("\n".join(report.lines()))
    return 1 if report.violations else 0


def mutate(wanted: Run, names: list[str]) -> int:
    """Take repairs out, each until the model notices or the minutes are over: 1 if one was not noticed."""
    chosen = [m for m in MUTATIONS.values() if not names or any(name in m.name for name in names)]
    missed = 0
    print(f"seed {wanted.seed}; {len(chosen)} repairs are taken out, each for {wanted.minutes} minutes at most")
    for mutation in chosen:
        started = time.monotonic()
        layers = wanted.layers or mutation.layers
        one = Run(wanted.minutes, wanted.seed, wanted.processes, layers, wanted.rounds, mutation.name, stops=True)
        report = run(one, quiet=True)
        seconds, rounds = time.monotonic() - started, sum(report.rounds.values())
        if report.failed:
            first = report.failed[0]
            said = f"caught after {rounds} rounds, {seconds:.0f} s, by seed {first.seed}: {first.violations[0][:160]}"
        else:
            said, missed = f"NOT caught in {rounds} rounds, {seconds:.0f} s", missed + 1
        print(f"[{mutation.finding}] {mutation.name}: {said}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} were caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
