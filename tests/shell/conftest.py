"""A shell without Spark: statements are answered by a table of answers."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

from paimon_sql.shell import runner as runner_module
from paimon_sql.shell.commands import run_command
from paimon_sql.shell.engine.engine import Engine
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.engine.result import Result
from paimon_sql.shell.engine.rows import Column, Row
from paimon_sql.shell.runner import Runner, Settings


class FakeShell:
    """A runner whose Spark knows the statements of ``answers``: rows of one column, or an error to raise."""

    def __init__(self, **settings: Any) -> None:
        self.answers: dict[str, list[Row] | Exception] = {}
        self.asked: list[tuple[str, str, int | None]] = []
        self.out = io.StringIO()
        self.err = io.StringIO()
        self.runner = Runner(
            Engine(lambda: self),
            Settings(**settings),
            Console(file=self.out, width=10_000, highlight=False, markup=False),
            Report(Console(file=self.err, width=200, highlight=False, markup=False)),
            run_command,
        )

    def execute(self, _: Any, statement: str, encoding: str, limit: int | None) -> Result:
        """Stands for `paimon_sql.shell.engine.result.execute`."""
        self.asked.append((statement, encoding, limit))
        answer = self.answers.get(statement, [])
        if isinstance(answer, Exception):
            raise answer
        columns = (Column("c", "string"),) if statement in self.answers else ()
        return Result(columns, iter(answer if limit is None else answer[: limit + 1]))

    @property
    def statements(self) -> list[str]:
        """The statements that were run."""
        return [statement for statement, _, _ in self.asked]


class Shells:
    """Makes shells and lets their statements be answered by them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(self, answers: Mapping[str, list[Row] | Exception] | None = None, **settings: Any) -> FakeShell:
        shell = FakeShell(**settings)
        shell.answers.update(answers or {})
        self._patch.setattr(runner_module, "execute", shell.execute)
        return shell


@pytest.fixture
def shells(monkeypatch: pytest.MonkeyPatch) -> Shells:
    """Makes shells without Spark."""
    return Shells(monkeypatch)
