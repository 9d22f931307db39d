"""What a seed makes of a round of processes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.faults.actions import ACTIONS
from tests.faults.injected import KINDS as FAULTS
from tests.faults.tables import KINDS, TableKind

ZONES = ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati")
_MEANS = ("kill", "suspend", "suspend", "interrupt")


@dataclass(frozen=True)
class Strike:
    """Something that happens to a party from outside, wherever it is.

    Attributes:
        at: when, in seconds from the beginning of the round.
        party: to whom.
        means: ``kill``, ``suspend`` or ``interrupt``.
    """

    at: float
    party: int
    means: str


@dataclass(frozen=True)
class PartyPlan:
    """One party.

    Attributes:
        script: the names of its operations.
        skew: by how many seconds its clock is wrong.
        zone: its time zone.
    """

    script: tuple[str, ...]
    skew: float
    zone: str


@dataclass(frozen=True)
class Plan:
    """A round.

    Attributes:
        seed: the seed.
        kind: the kind of the table.
        options: options of the table beyond those of its kind.
        store: ``disk``; ``remote``, whose answers may be lost; ``locked``, which needs the catalog's lock to create.
        fault_rate: how probable a fault is at each file operation.
        pause_rate: how probable a suspension is at each file operation.
        faults: the kinds of faults that there are.
        parties: the parties.
        strikes: what happens to them from outside.
    """

    seed: int
    kind: TableKind
    options: dict[str, str]
    store: str
    fault_rate: float
    pause_rate: float
    faults: tuple[str, ...]
    parties: tuple[PartyPlan, ...]
    strikes: tuple[Strike, ...] = field(default=())

    def __str__(self) -> str:
        scripts = "; ".join(f"{p.zone} {p.skew:+g} s: {', '.join(p.script)}" for p in self.parties)
        struck = ", ".join(f"{s.means} {s.party} at {s.at:.2f}" for s in self.strikes)
        return (
            f"seed {self.seed}: {self.kind.name} {self.options}, {self.store}, faults {self.fault_rate:.4f} of"
            f" {', '.join(self.faults) or 'no kind'}, pauses {self.pause_rate:.4f}; {scripts}; {struck}"
        )


def plan_round(seed: int) -> Plan:
    """What happens in a round, by its seed."""
    chance = random.Random(seed)
    kinds = list(KINDS.values())
    kind = chance.choices(kinds, [k.weight for k in kinds])[0]
    store = chance.choice(["disk", "disk", "disk", "remote", "remote", "locked"])
    faulty = chance.random() < 0.7
    rate = chance.choice([0.0005, 0.0015, 0.004]) if faulty else 0.0
    faults = tuple(sorted(chance.sample(list(FAULTS), chance.randint(1, len(FAULTS))))) if faulty else ()
    pauses = chance.choice([0, 0.001, 0.003])
    options = {}
    if kind.options.get("write-only") and chance.random() < 0.3:
        options = {"write-only": "false", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
        options["snapshot.time-retained"] = "1 ms"
    if chance.random() < 0.2:
        options["manifest.merge-min-count"] = "2"
    count = chance.choice([2, 3, 3, 4, 5])
    parties = tuple(_party(chance, kind) for _ in range(count))
    many = chance.choice([0, 0, 1, 2, 4, 6])
    strikes = [Strike(chance.uniform(0.05, 2.5), chance.randrange(count), chance.choice(_MEANS)) for _ in range(many)]
    strikes.sort(key=lambda s: s.at)
    return Plan(seed, kind, options, store, rate, pauses, faults, parties, tuple(strikes))


def _party(chance: random.Random, kind: TableKind) -> PartyPlan:
    actions = [a for a in ACTIONS.values() if a.fits(kind)]
    favoured = chance.sample(actions, min(len(actions), chance.randint(2, 6)))
    pool = [ACTIONS["insert"], *(actions if chance.random() < 0.4 else favoured)]
    script = chance.choices(pool, [a.weight for a in pool], k=chance.randint(5, 25))
    skew = chance.choice([0.0, 0.0, -5400.0, 3600.0, 7 * 3600.0, 0.4])
    return PartyPlan(tuple(a.name for a in script), skew, chance.choice(ZONES))
