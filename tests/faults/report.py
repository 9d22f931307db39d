"""What a run of the model did, in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Round:
    """The figures of one round, as a process hands them on.

    Attributes:
        layer: the layer that it was played in.
        seed: its seed.
        plan: what was planned.
        violations: what must not be.
        operations: how many operations there were, by name, a colon and their outcome.
        faults: how many faults were injected, by kind.
        figures: other numbers.
        log: what happened, where there are violations.
    """

    layer: str
    seed: int
    plan: str = ""
    violations: list[str] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    figures: dict[str, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def stored(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return asdict(self)


@dataclass
class Report:
    """The figures of all rounds."""

    rounds: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    figures: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: list[Round] = field(default_factory=list)

    def add(self, one: Round) -> None:
        """Count a round."""
        self.rounds[one.layer] += 1
        for key, count in one.operations.items():
            name, _, outcome = key.rpartition(":")
            self.operations[name, outcome] += count
        self.faults.update(one.faults)
        for key, count in one.figures.items():
            self.figures[one.layer, key] += count
        if one.violations:
            self.failed.append(one)

    @property
    def violations(self) -> int:
        """How many rounds showed what must not be."""
        return len(self.failed)

    def lines(self) -> Iterable[str]:
        """The report as text."""
        yield ""
        for layer, count in self.rounds.items():
            figures = ", ".join(f"{n} {what}" for (where, what), n in sorted(self.figures.items()) if where == layer)
            yield f"{layer}: {count} rounds in {self.seconds.get(layer, 0):.0f} s: {figures}"
        outcomes = sorted({outcome for _, outcome in self.operations})
        yield ""
        yield f"{'operations':24}" + "".join(f"{o:>14}" for o in outcomes)
        for name in sorted({name for name, _ in self.operations}):
            yield f"{name:24}" + "".join(f"{self.operations[name, o]:14}" for o in outcomes)
        totals = (sum(n for (_, outcome), n in self.operations.items() if outcome == o) for o in outcomes)
        yield f"{'all':24}" + "".join(f"{n:14}" for n in totals)
        yield ""
        yield "faults"
        for name, count in self.faults.most_common():
            yield f"{name:34}{count:8}"
        yield f"{'all':34}{sum(self.faults.values()):8}"
        yield ""
        yield f"violations: {self.violations}"
        for one in self.failed:
            yield f"- {one.layer}, seed {one.seed}: {one.violations[0][:300]}"


def details(one: Round) -> Iterable[str]:
    """All about a round in which something was wrong."""
    yield f"VIOLATION in {one.layer}, {one.plan or one.seed}"
    yield from (f"  ! {what}" for what in one.violations)  # first: whoever prints may cut the rest off
    yield from (f"    {line}" for line in one.log)
    yield f"  replay: python -m tests.faults --layer {one.layer} --seed {one.seed} --rounds 1"
