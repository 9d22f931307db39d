"""The prompt: multi-line statements with history, highlighting and completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

import pyspark
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.shell.engine.engine import Interrupted
from paimon_sql.shell.pieces import Source, is_complete, split, tokens_of
from paimon_sql.shell.prompt.completion import KEYWORDS, Names, SqlCompleter
from paimon_sql.shell.runner import ExitShell, Runner

_STYLES = {"string": "class:string", "number": "class:number", "quoted": "class:quoted"}


class SqlLexer(Lexer):
    """Highlights keywords, strings, numbers, quoted names and comments, also in unfinished text."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = list(split_lines(fragments(document.text)))
        return lambda number: lines[number] if number < len(lines) else []


def fragments(text: str) -> StyleAndTextTuples:
    """Split a text into styled parts."""
    parts: StyleAndTextTuples = []
    position = 0
    tokens, _ = tokens_of(text)
    for token in tokens:
        parts.append(_between(text[position : token.start]))
        style = "class:keyword" if token.word in KEYWORDS else _STYLES.get(token.kind, "")
        parts.append((style, text[token.start : token.end]))
        position = token.end
    parts.append(_between(text[position:]))
    return [part for part in parts if part[1]]


def _between(text: str) -> tuple[str, str]:
    return ("" if text.isspace() else "class:comment", text)


_STYLE = Style.from_dict(
    {
        "keyword": "ansibrightblue",
        "string": "ansigreen",
        "number": "ansicyan",
        "comment": "ansibrightblack italic",
        "quoted": "ansiyellow",
        "rprompt": "ansibrightblack",
    }
)


class Prompt:
    """Prompts for statements until the user leaves; an error ends the statement, not the shell.

    Args:
        runner: runs the statements.
        before: sources to run first.
        warehouse: the given warehouse, for the greeting.
    """

    def __init__(self, runner: Runner, before: Sequence[Source], warehouse: str | None) -> None:
        self._runner = runner
        self._before = before
        self._warehouse = warehouse
        self._place = "paimon-sql"
        self._names = Names(runner.engine)

    def run(self) -> None:
        """Run the prompt; Spark starts in the background."""
        if not self._runner.settings.silent:
            self._runner.report.note(
                f"paimon-sql {paimon_sql.__version__} on Spark {pyspark.__version__}, "
                f"warehouse {self._warehouse or './warehouse'}. Type help for help, quit to leave."
            )
        try:
            if self._before and not (
                self._runner.start_engine() and all(self._runner.run(each.pieces, each.origin) for each in self._before)
            ):
                return
            session = self._session()
            self._runner.engine.session.add_done_callback(lambda answer: _started(session, answer))
            while True:
                self._ask(session)
        except (ExitShell, EOFError):
            # The user has seen the errors: they do not make the exit status.
            self._runner.failures = 0
        except _StartError as error:
            self._runner.fail(error.reason)

    def _ask(self, session: PromptSession[str]) -> None:
        try:
            text = session.prompt(self._message)
        except KeyboardInterrupt:
            return
        try:
            self._runner.run(split(text))
        except (Interrupted, KeyboardInterrupt) as error:
            abandoned = isinstance(error, Interrupted) and error.abandoned
            self._runner.report.note(
                "Stopped waiting: the statement may still run and succeed." if abandoned else "Interrupted."
            )
        self._names.invalidate()

    def _session(self) -> PromptSession[str]:
        engine = self._runner.engine
        return PromptSession(
            history=_history(),
            lexer=SqlLexer(),
            completer=SqlCompleter(self._names),
            complete_in_thread=True,
            complete_while_typing=False,
            complete_style=CompleteStyle.MULTI_COLUMN,
            auto_suggest=AutoSuggestFromHistory(),
            multiline=Condition(lambda: not is_complete(get_app().current_buffer.text)),
            prompt_continuation=lambda width, line, wrapped: " " * (width - 3) + "-> ",
            rprompt=lambda: "" if engine.session.done() else "starting Spark …",
            style=_STYLE,
            enable_open_in_editor=True,
        )

    def _message(self) -> StyleAndTextTuples:
        if (place := self._names.current_database()) is not None:
            self._place = place
        return [("", f"{self._place}> ")]


class _StartError(Exception):
    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _started(session: PromptSession[str], answer: Future[SparkSession]) -> None:
    """Update a waiting prompt when Spark has started, or end it if Spark did not start."""
    app = session.app
    loop = app.loop
    if loop is None or not app.is_running:
        return
    if (reason := answer.exception()) is None:
        app.invalidate()
    else:
        loop.call_soon_threadsafe(lambda: app.exit(exception=_StartError(reason)))


def _history() -> History:
    """The history in the user's state directory; in memory if that is not writable."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "paimon-sql" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
