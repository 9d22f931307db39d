"""Progress bars of long calls in notebooks."""

from __future__ import annotations

import html
import importlib
import sys
import threading
import time
from typing import Protocol

from paimon_sql.process import share
from paimon_sql.storage.execution.task_executor import Work, running

PATIENCE = 1.0
"""Seconds before a bar appears."""

_INTERVAL = 0.3
_KERNEL_SHELL = "ZMQInteractiveShell"


def show_in_notebook() -> bool:
    """Start showing progress bars if this process is a notebook's kernel; return whether it is one.

    A separate thread draws the bars, since a cell is blocked while its statement runs.
    """
    if not in_notebook():
        return False
    _watcher()
    return True


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return shell is not None and type(shell).__name__ == _KERNEL_SHELL


class Handle(Protocol):
    """A displayed object, which can be replaced."""

    def update(self, shown: object) -> None:
        """Replace it."""


class Display(Protocol):
    """The module ``IPython.display``."""

    def HTML(self, text: str) -> object:
        """An object that is displayed as that HTML."""

    def display(self, shown: object, *, display_id: bool) -> Handle:
        """Display an object."""


class ProgressBars:
    """The visible progress bars.

    Args:
        display: the module ``IPython.display``.
    """

    def __init__(self, display: Display) -> None:
        self._display = display
        self._shown: dict[Work, Handle] = {}

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


def _start_watching() -> threading.Thread:
    display: Display = importlib.import_module("IPython.display")
    thread = threading.Thread(target=_watch, args=(ProgressBars(display),), name="paimon-bars", daemon=True)
    thread.start()
    return thread


_watcher = share(_start_watching)


def _watch(bars: ProgressBars) -> None:
    while True:
        time.sleep(_INTERVAL)
        bars.draw()
