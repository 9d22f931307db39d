"""What a tree of processes takes while it works: its memory at most, and what other processes took meanwhile.

It reads ``/proc`` and knows nothing on systems without it.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_INTERVAL = 0.2


@dataclass(frozen=True)
class _Process:
    parent: int
    ticks: int
    resident: int


@dataclass(frozen=True)
class Observation:
    """What was seen; None where the system does not tell.

    Attributes:
        peak_memory: bytes resident in all processes of the tree together, at most. Pages that they share
            count for each.
        others: cores that processes outside the tree kept busy, on average.
        processor: seconds of processor time that the tree took, which others make longer less than those of the clock.
    """

    peak_memory: int | None
    others: float | None
    processor: float | None


class Watch:
    """Watches the tree below a process for as long as the ``with`` block takes."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._peak = 0
        self._known = _PROC.joinpath("stat").exists()
        self._started = (0.0, 0, 0)
        self.seen = Observation(None, None, None)

    def __enter__(self) -> Watch:
        if self._known:
            self._started = self._clocks()
            self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if not self._known:
            return
        self._done.set()
        self._thread.join()
        then, busy_then, own_then = self._started
        now, busy, own = self._clocks()
        ticks, each = own - own_then, os.sysconf("SC_CLK_TCK")
        others = max(0.0, (busy - busy_then - ticks) / each / max(now - then, 1e-3))
        self.seen = Observation(self._peak, round(others, 2), ticks / each)

    def _follow(self) -> None:
        while True:
            self._peak = max(self._peak, sum(p.resident for p in self._tree()))
            if self._done.wait(_INTERVAL):
                return

    def _clocks(self) -> tuple[float, int, int]:
        fields = _PROC.joinpath("stat").read_text().split("\n", 1)[0].split()
        user, nice, system, _idle, _waiting, hard, soft, *_ = map(int, fields[1:])
        return time.monotonic(), user + nice + system + hard + soft, sum(p.ticks for p in self._tree())

    def _tree(self) -> list[_Process]:
        table = {int(e.name): p for e in _PROC.iterdir() if e.name.isdigit() and (p := _read(e)) is not None}
        children: dict[int, list[int]] = {}
        for process_id, process in table.items():
            children.setdefault(process.parent, []).append(process_id)
        found, waiting = [], [self._root]
        while waiting:
            process_id = waiting.pop()
            if process_id in table:
                found.append(table[process_id])
            waiting += children.get(process_id, [])
        return found


def _read(folder: Path) -> _Process | None:
    try:
        # The name in brackets may hold blanks; the fields after it are counted from the state, the third of all.
        fields = folder.joinpath("stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    own_and_reaped = sum(map(int, fields[11:15]))
    return _Process(int(fields[1]), own_and_reaped, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
