"""What a run found: samples, and the ratios that follow from them."""

from __future__ import annotations

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench.engines import BASE, CONNECTOR, ENVIRONMENTS, PEERS, PLACES, TITLES
from bench.settings import Settings
from bench.works import SUITES
from bench.works.base import Work

# From so many cores kept busy by others on, a figure is marked as noisy.
NOISY = 0.25
_SPARKS = {PEERS: " (peers' Spark)", CONNECTOR: " (connector's Spark)"}


@dataclass(frozen=True)
class Contestant:
    """An engine in one environment."""

    engine: str
    environment: str

    @property
    def title(self) -> str:
        """What tables and charts call it."""
        where = _SPARKS.get(self.environment, "") if len(ENVIRONMENTS[self.engine]) > 1 else ""
        return TITLES[self.engine] + where

    @property
    def base(self) -> Contestant:
        """What it is measured against: plain Parquet on the same Spark."""
        return Contestant(BASE, self.environment)


@dataclass(frozen=True)
class Measured:
    """One sample of one work by one contestant."""

    work: str
    repetition: int
    seconds: float
    answer: str | None
    peak_memory: int | None
    others: float | None
    planning: float | None = None
    processor: float | None = None


@dataclass
class Results:
    """All that a run found.

    Attributes:
        settings: its sizes.
        versions: what each contestant is.
        failures: why a contestant did not start (key ``""``) or could not do a work.
        samples: the measurements.
    """

    settings: Settings
    versions: dict[Contestant, str] = field(default_factory=dict)
    failures: dict[Contestant, dict[str, str]] = field(default_factory=dict)
    samples: dict[Contestant, list[Measured]] = field(default_factory=dict)

    @property
    def suite(self) -> dict[str, Work]:
        """The works that it was about."""
        return SUITES[self.settings.suite]

    def add(self, who: Contestant, measured: Measured) -> None:
        """Keep a sample."""
        self.samples.setdefault(who, []).append(measured)

    def fail(self, who: Contestant, work: str, reason: str) -> None:
        """Keep why a work was not done."""
        self.failures.setdefault(who, {})[work] = reason

    def works(self) -> list[str]:
        """The works that somebody did or tried, in their order."""
        done = {m.work for samples in self.samples.values() for m in samples}
        tried = {work for failures in self.failures.values() for work in failures}
        return [name for name in self.suite if name in done | tried]

    def contestants(self) -> list[Contestant]:
        """All that took part or were to: ours first, in each environment Parquet first."""
        order = sorted(ENVIRONMENTS, key=lambda engine: engine != BASE)
        known = [Contestant(engine, place) for place in PLACES for engine in order]
        return [who for who in known if who in self.versions or who in self.failures]

    def of(self, who: Contestant, work: str) -> list[Measured]:
        """The samples of a work."""
        return [m for m in self.samples.get(who, []) if m.work == work]

    def seconds(self, who: Contestant, work: str) -> float | None:
        """The figure of a work, None if it was not done whole."""
        found = [m.seconds for m in self.of(who, work)]
        failed = work in self.failures.get(who, {})
        return self.suite[work].total(found) if found and not failed else None

    def processor_ratio(self, who: Contestant, work: str) -> float | None:
        """The processor time in the median over that of Parquet, where both are known."""
        base = self.suite[work].measured_against
        own, theirs = (
            [m.processor for m in self.of(one, name) if m.processor is not None]
            for one, name in ((who, work), (who.base, base))
        )
        return statistics.median(own) / statistics.median(theirs) if own and any(theirs) else None

    def planning(self, who: Contestant, work: str) -> float | None:
        """The seconds of a work before anything ran, in the median; None where they are not known."""
        found = [m.planning for m in self.of(who, work) if m.planning is not None]
        return statistics.median(found) if found else None

    def ratio(self, who: Contestant, work: str) -> float | None:
        """The figure over that of Parquet on the same Spark in the same run."""
        own = self.seconds(who, work)
        base = self.seconds(who.base, self.suite[work].measured_against)
        return own / (base * self.suite[work].share) if own is not None and base else None

    def noisy(self, who: Contestant, work: str) -> bool:
        """Whether other processes kept the machine busy during at least half of the samples."""
        known = sorted(m.others for m in self.of(who, work) if m.others is not None)
        return bool(known) and known[len(known) // 2] >= NOISY

    def peak_memory(self, who: Contestant, work: str | None = None) -> int | None:
        """The memory of the JVM and all its workers at most, in one work or in all."""
        found = [m.peak_memory for m in self.samples.get(who, []) if work in (None, m.work) and m.peak_memory]
        return max(found, default=None)

    def disagreements(self) -> list[str]:
        """The works to which contestants gave different answers."""
        answers: dict[tuple[str, int], set[str]] = {}
        for samples in self.samples.values():
            for m in samples:
                if m.answer is not None:
                    work = self.suite[m.work]
                    question = work.measured_against if work.same_answer else m.work
                    answers.setdefault((question, m.repetition), set()).add(m.answer)
        return sorted({work for (work, _), found in answers.items() if len(found) > 1})

    def write(self, path: Path) -> None:
        """Keep everything as JSON."""
        everything: dict[str, Any] = {
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "machine": {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()},
            "settings": asdict(self.settings),
            "disagreements": self.disagreements(),
            "contestants": [
                {
                    **asdict(who),
                    "version": self.versions.get(who),
                    "failures": self.failures.get(who, {}),
                    "peak_memory": self.peak_memory(who),
                    "works": {
                        work: {
                            "seconds": self.seconds(who, work),
                            "ratio": self.ratio(who, work),
                            "peak_memory": self.peak_memory(who, work),
                            "samples": [asdict(m) for m in self.of(who, work)],
                        }
                        for work in self.works()
                        if self.of(who, work)
                    },
                }
                for who in self.contestants()
            ],
        }
        path.write_text(json.dumps(everything, indent=1, default=str))
