"""Pages of the documentation as what they show: blocks of code, and the answers that stand behind them.

A block ``sql`` is typed into the shell; a block ``text`` behind it holds what the shell puts out for it, rows or an
error; ``…`` in it stands for anything. A block ``python`` runs with ``spark`` at hand.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

import paimon_sql
from paimon_sql.shell.commands import run_command
from paimon_sql.shell.engine.engine import Engine
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.pieces import split
from paimon_sql.shell.runner import Runner, Settings

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_WIDE = 1000


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        language: ``sql`` or ``python``.
        code: its text.
        line: the line of the page on which it begins.
        answer: the text behind it, None without one.
        place: where that text stands in the page.
    """

    language: str
    code: str
    line: int
    answer: str | None
    place: slice


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that run, in their order."""
    fences = list(_FENCE.finditer(page))
    for fence, behind in zip_longest(fences, fences[1:]):
        if fence["language"] not in ("sql", "python"):
            continue
        shown = behind is not None and behind["language"] == "text" and not page[fence.end() : behind.start()].strip()
        place = slice(*behind.span("code")) if shown and behind else slice(0, 0)
        line = page.count("\n", 0, fence.start()) + 1
        yield Block(fence["language"], fence["code"], line, page[place] if shown else None, place)


def session(warehouse: Path) -> SparkSession:
    """A session over a new warehouse in the Spark that all tests of a process share."""
    return paimon_sql.connect(
        warehouse,
        **{
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.paimon.procedure.results": "full",
        },
    )


class Reader:
    """Someone who types one page's blocks into one shell.

    Args:
        spark: the session behind it.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._names = {"spark": spark, "paimon_sql": paimon_sql}
        self._out = io.StringIO()
        out, err = (Console(file=self._out, width=_WIDE, highlight=False, markup=False) for _ in range(2))
        self._runner = Runner(Engine(lambda: spark), Settings(silent=True), out, Report(err), run_command)

    def type(self, block: Block) -> str:
        """What the shell puts out for a block; of statements the answers with rows, as they come."""
        if block.language == "python":
            exec(compile(block.code, f"line {block.line}", "exec"), self._names)
            return ""
        self._out.seek(0)
        self._out.truncate()
        self._runner.run(split(block.code))
        return "".join(f"{line.rstrip()}\n" for line in self._out.getvalue().splitlines())


def alike(shown: str, answer: str) -> bool:
    """Whether an answer is what a page shows."""
    wanted = ".*?".join(map(re.escape, shown.split("…")))
    return re.fullmatch(wanted, answer, re.DOTALL) is not None
