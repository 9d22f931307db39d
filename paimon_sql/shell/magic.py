"""IPython magic ``%%sql``: SQL in the cells of a notebook, after ``%load_ext paimon_sql``."""

from __future__ import annotations

import importlib
import io
import shlex
import time
from collections.abc import Callable
from html import escape
from itertools import chain
from typing import NoReturn, Protocol, cast

from pyspark.sql import SparkSession
from rich.console import Console

from paimon_sql.errors import InvalidInputError, PaimonError, SetupError
from paimon_sql.shell.engine.engine import Engine, Interrupted, Waiting
from paimon_sql.shell.engine.errors import describe
from paimon_sql.shell.engine.problem import Problem
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.engine.result import execute
from paimon_sql.shell.formats.html import Html
from paimon_sql.shell.pieces import Piece, split
from paimon_sql.spark.session.remote import is_session

ROWS = 100
"""The default of ``-n``: the max number of rows to show."""

_USAGE = "Write %%sql, or %%sql -n ROWS, and the statements below; or %sql and one statement."


class _Shell(Protocol):
    """IPython's shell."""

    user_ns: dict[str, object]

    def register_magic_function(self, function: Callable[..., None], kind: str, name: str) -> None: ...


def load(shell: _Shell) -> None:
    """Register the magic in IPython's shell."""
    display = importlib.import_module("IPython.display")
    magic = SqlMagic(shell, lambda html: display.display(display.HTML(html)))
    for kind in ("line", "cell"):
        shell.register_magic_function(magic, kind, "sql")


class StatementFailedError(Exception):
    """A statement of a cell failed: the notebook shows the error without traceback, and stops."""

    def __init__(self, problem: Problem, statement: str) -> None:
        text = io.StringIO()
        Report(_console(text)).problem(problem, statement)
        super().__init__(text.getvalue().rstrip())

    def _render_traceback_(self) -> list[str]:
        # IPython's hook for the display of an error.
        return [str(self)]


class SqlMagic:
    """Runs the statements of a cell in order, and shows their results below it.

    Statements run in the session of the notebook's variable ``spark``, or else in the active one. They are split as in
    the shell; the first failure ends the cell.

    Args:
        shell: IPython's shell.
        show: displays HTML below the cell.
    """

    def __init__(self, shell: _Shell, show: Callable[[str], None]) -> None:
        self._shell, self._show_html = shell, show
        self._engine: Engine | None = None

    def __call__(self, line: str, cell: str | None = None) -> None:
        """``%sql statement``, or ``%%sql [-n ROWS]`` with statements below.

        Raises:
            StatementFailedError: a statement failed, or there is no session.
        """
        try:
            rows, text = (ROWS, line) if cell is None else (_rows(line), cell)
            engine = self._engine_of(self._session())
        except PaimonError as error:
            _fail(error)
        for piece in split(text):
            if piece.kind == "command":
                word = piece.text.split()[0]
                _fail(InvalidInputError(f"{word} is a command of the shell, not SQL.", remedy=_USAGE))
            self._show(engine, piece, rows)

    def _session(self) -> SparkSession:
        named = self._shell.user_ns.get("spark")
        session = cast(SparkSession, named) if is_session(named) else SparkSession.getActiveSession()
        if session is None:
            raise SetupError("There is no session yet.", remedy='Run spark = paimon_sql.connect("warehouse") first.')
        return session

    def _engine_of(self, session: SparkSession) -> Engine:
        """The engine of a session; all cells share it, since it has a thread."""
        if self._engine is None or self._engine.ready is not session:
            self._engine = Engine(lambda: session)
            self._engine.session.result()
        return self._engine

    def _show(self, engine: Engine, piece: Piece, limit: int) -> None:
        since = time.perf_counter()
        try:
            result = engine.run(lambda session: execute(session, piece.text, "text", limit), Waiting())
            rows = list(chain.from_iterable(iter(result.fetch, [])))
        except Interrupted as interrupted:
            raise KeyboardInterrupt from interrupted
        except Exception as error:
            _fail(error, piece.text)
        seconds = time.perf_counter() - since
        if not result.columns:
            self._put(f"OK ({seconds:.2f} s)")
            return
        table = io.StringIO()
        form = Html(_console(table))
        form.begin(result.columns)
        form.write(rows[:limit])
        form.end()
        more = f"the first {limit:,} rows" if len(rows) > limit else f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"
        self._put(f"{more} ({seconds:.2f} s)", table.getvalue())

    def _put(self, caption: str, table: str = "") -> None:
        self._show_html(f'{table}<p style="opacity: 0.6">{escape(caption)}</p>')


def _console(file: io.StringIO) -> Console:
    # In a notebook, rich would display its output instead of writing it to the file.
    return Console(file=file, width=1000, force_jupyter=False)


def _rows(line: str) -> int:
    words = shlex.split(line)
    if not words:
        return ROWS
    if len(words) != 2 or words[0] != "-n" or not words[1].isdigit():
        raise InvalidInputError(f"'{line.strip()}' is not an option of %%sql.", remedy=_USAGE)
    return int(words[1])


def _fail(error: BaseException, statement: str = "") -> NoReturn:
    raise StatementFailedError(describe(error, statement), statement) from None
