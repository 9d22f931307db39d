"""Progress bars of long calls in notebooks."""

from __future__ import annotations

import html
import importlib
import sys
import threading
import time
from typing import Any

from paimon_sql.storage.execution.progress import Work, running

PATIENCE = 1.0
"""Seconds before a bar appears."""

_INTERVAL = 0.3
_KERNEL_SHELL = "ZMQInteractiveShell"
_lock = threading.Lock()
_watching: list[threading.Thread] = []


def show_in_notebook() -> bool:
    """Start showing progress bars if this process is a notebook's kernel; return whether it is one.

    A separate thread draws the bars, since a cell is blocked while its statement runs.
    """
    if not in_notebook():
        return False
    with _lock:
        if not _watching:
            display: Any = importlib.import_module("IPython.display")
            thread = threading.Thread(target=_watch, args=(ProgressBars(display),), name="paimon-bars", daemon=True)
            _watching.append(thread)
            thread.start()
    return True


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return shell is not None and type(shell).__name__ == _KERNEL_SHELL


class ProgressBars:
    """The visible progress bars.

    Args:
        display: the module ``IPython.display``.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._shown: dict[Work, Any] = {}

    def draw(self) -> None:
        """Draw running work, and remove the bars of finished work."""
        works = [work for work in running() if work.total and time.monotonic() - work.since >= PATIENCE]
        for work in works:
            picture = self._display.HTML(_bar(work))
            if work in self._shown:
                self._shown[work].update(picture)
            else:
                self._shown[work] = self._display.display(picture, display_id=True)
        for work in set(self._shown) - set(works):
            self._shown.pop(work).update(self._display.HTML(""))


def _bar(work: Work) -> str:
    label = html.escape(f"{work.what}: {work.done:,} of {work.total:,} tasks")
    return f'<progress value="{work.done}" max="{work.total}"></progress> {label}'


def _watch(bars: ProgressBars) -> None:
    while True:
        time.sleep(_INTERVAL)
        bars.draw()
