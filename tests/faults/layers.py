"""The layers of the model: ways to let parties meet, from quick and exact to slow and real."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from tests.faults.history import NOT_JUDGED
from tests.faults.report import Round
from tests.faults.world import play

LAYERS: dict[str, Layer] = {}
"""The layers by name."""


class Layer(ABC):
    """A way to play rounds.

    Attributes:
        name: its name.
        share: its share of the time of a run.
    """

    name: str
    share: float

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        LAYERS[cls.name] = cls()

    @abstractmethod
    def play(self, seed: int, folder: Path) -> Round:
        """Play the round of a seed."""

    def close(self) -> None:
        """Give back what rounds have in common."""
        return


class Turns(Layer):
    """Parties take turns in one process, at file operations, and a seed replays exactly.

    Attributes:
        kinds: the kinds of tables; all by default.
        focus: the operations that meet; others in each round by default.
    """

    name, share = "turns", 0.6
    kinds: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()

    def play(self, seed: int, folder: Path) -> Round:
        result = play(seed, folder, self.kinds, self.focus)
        figures = {
            "file operations": result.steps,
            "hand-overs": result.handovers,
            "commits": result.commits,
            "reads": result.reads,
            NOT_JUDGED: result.late_arrivals,
        }
        operations = {f"{name}:{outcome}": count for (name, outcome), count in result.operations.items()}
        log = result.log if result.violations else []
        return Round(
            self.name, seed, str(result.plan), result.violations, operations, dict(result.faults), figures, log
        )
