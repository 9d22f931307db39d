"""``paimon-sql`` without a subcommand: statements of arguments, files, standard input or the prompt."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from rich.console import Console

from paimon_sql.shell.commands import run_command
from paimon_sql.shell.engine.engine import Engine
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.pieces import Source, from_file, from_stream, split
from paimon_sql.shell.runner import ExitShell, Runner, Settings
from paimon_sql.shell.setup import Setup


def sources_of(execute: Sequence[str], files: Sequence[str], *, typed: bool) -> list[Source]:
    """The sources of statements; none to read them at the prompt.

    Args:
        execute: statements.
        files: files, ``-`` for standard input.
        typed: whether to prompt if there are neither, instead of reading standard input.

    Raises:
        InvalidInputError: a file cannot be read.
    """
    if execute:
        return [Source(split(text)) for text in execute]
    if files:
        return [from_stream(sys.stdin or ()) if name == "-" else from_file(name) for name in files]
    return [] if typed else [from_stream(sys.stdin or ())]


def starting_runner(setup: Setup, settings: Settings, out: Console, report: Report) -> Runner:
    """A runner whose Spark starts at once, in a thread of its own."""
    return Runner(Engine(setup.start), settings, out, report, run_command)


def run_sources(runner: Runner, before: Sequence[Source], sources: Sequence[Source], setup: Setup) -> None:
    """Run all sources, those of ``before`` first; prompt for statements if there are no others."""
    if not sources:
        # Most shells run statements without a prompt.
        from paimon_sql.shell.prompt import Prompt

        Prompt(runner, before, setup.warehouse).run()
    elif runner.start_engine():
        with suppress(ExitShell):
            for source in (*before, *sources):
                if not runner.run(source.pieces, source.origin) and not runner.settings.keep_going:
                    break
