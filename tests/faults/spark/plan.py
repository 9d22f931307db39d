"""What a seed makes of a round with Spark."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.faults.injected import KINDS as FAULTS
from tests.faults.processes.plan import ZONES, PartyPlan, Plan, Strike
from tests.faults.spark.statements import STATEMENTS
from tests.faults.tables import KINDS, TableKind

_NOT_OURS = (
    # Interrupts never reach the threads in which Spark calls back, and a process with a JVM cannot be forked.
    "interrupt before an operation",
    "interrupt after an operation",
    "answer lost before the effect",
    "kill with a request on its way",
)
FAULTY = tuple(name for name in FAULTS if name not in _NOT_OURS)


@dataclass(frozen=True)
class SparkPlan(Plan):
    """A round.

    Attributes:
        by_workers: for each party whether nothing is so little that its driver does it by itself.
    """

    by_workers: tuple[bool, ...] = ()


def plan_round(seed: int) -> SparkPlan:
    """What happens in a round, by its seed."""
    chance = random.Random(seed)
    kinds = list(KINDS.values())
    kind = chance.choices(kinds, [k.weight for k in kinds])[0]
    store = chance.choice(["disk", "disk", "remote"])
    rate = chance.choice([0, 0.0005, 0.002, 0.004])
    faults = tuple(sorted(chance.sample(FAULTY, chance.randint(1, len(FAULTY))))) if rate else ()
    pauses = chance.choice([0, 0, 0.002])
    options = {}
    if kind.options.get("write-only") and chance.random() < 0.3:
        options = {"write-only": "false", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
        options["snapshot.time-retained"] = "1 ms"
    parties = tuple(_party(chance, kind) for _ in range(2))
    many = chance.choice([0, 1, 2])
    means = ["kill", "kill", "suspend"]
    strikes = [Strike(chance.uniform(12, 40), chance.randrange(2), chance.choice(means)) for _ in range(many)]
    strikes.sort(key=lambda s: s.at)
    by_workers = tuple(chance.random() < 0.5 for _ in parties)
    return SparkPlan(seed, kind, options, store, rate, pauses, faults, parties, tuple(strikes), by_workers)


def _party(chance: random.Random, kind: TableKind) -> PartyPlan:
    pool = [s for s in STATEMENTS.values() if s.fits(kind)]
    script = [s.name for s in chance.choices(pool, [s.weight for s in pool], k=chance.randint(16, 28))]
    return PartyPlan((*script, "finish stream"), chance.choice([0.0, 0.0, -5400.0, 3600.0]), chance.choice(ZONES))
