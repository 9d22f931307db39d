"""The bars of a notebook, with a stand-in for IPython."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from paimon_sql.spark.session import notebook
from paimon_sql.spark.session.notebook import ProgressBars, show_in_notebook
from paimon_sql.storage.execution.task_executor import register_work


class Screen:
    """Stands for ``IPython.display``: remembers what is shown."""

    def __init__(self) -> None:
        self.pictures: list[str] = []

    def HTML(self, text: str) -> str:  # noqa: N802 - IPython's name
        return text

    def display(self, shown: object, *, display_id: bool) -> Any:
        assert display_id
        self.pictures.append(str(shown))
        place = len(self.pictures) - 1
        return SimpleNamespace(update=lambda text: self.pictures.__setitem__(place, text))


def test_long_work_gets_a_bar_that_moves_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "PATIENCE", 0)
    screen = Screen()
    bars = ProgressBars(screen)
    with register_work("CALL sys.compact a<b") as work:
        bars.draw()
        assert screen.pictures == []
        work.expect(1200)
        bars.draw()
        work.advance(5)
        bars.draw()
        assert screen.pictures == [
            '<progress value="5" max="1200"></progress> CALL sys.compact a&lt;b: 5 of 1,200 tasks'
        ]
    bars.draw()
    assert screen.pictures == [""]


def test_quick_work_gets_none() -> None:
    screen = Screen()
    with register_work("CALL sys.compact t") as work:
        work.expect(1)
        ProgressBars(screen).draw()
    assert screen.pictures == []


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_outside_a_notebook_nothing_is_watched(monkeypatch: pytest.MonkeyPatch, shell: Any) -> None:
    module = ModuleType("IPython")
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert not show_in_notebook()
