"""What one run is about: sizes and folders, the same for every engine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The sizes of a run.

    Attributes:
        rows: rows of the input; 0 where its scale says how large it is.
        repetitions: how often a work that can be repeated is measured.
        buckets: buckets of the primary-key table.
        cores: Spark's local threads.
        memory: the driver's heap.
        shuffle_partitions: partitions after a shuffle.
        data: the folder of the generated input.
        scratch: the folder of the tables.
        suite: the suite of works (`bench.works.SUITES`).
        scale: the scale factor of TPC's tables.
        variant: the variant of the input (`bench.variants.VARIANTS`).
        before: the checkout of another version of this project that is measured, too; empty for none.
    """

    data: Path
    rows: int = 0
    repetitions: int = 3
    scratch: Path = Path()
    buckets: int = 4
    cores: int = 2
    memory: str = "4g"
    shuffle_partitions: int = 4
    before: str = ""
    suite: str = ""
    scale: float = 0.0
    variant: str = "plain"

    def to_json(self) -> str:
        """One line that `from_json` reads."""
        return json.dumps(asdict(self), default=str)

    @staticmethod
    def from_json(text: str) -> Settings:
        """The settings that `to_json` wrote."""
        values = json.loads(text)
        paths = {f.name: Path(values[f.name]) for f in fields(Settings) if f.type == "Path"}
        return Settings(**(values | paths))
