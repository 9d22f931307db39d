"""Commands of the shell, as ``help`` lists them."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from paimon_sql.errors import InvalidInputError
from paimon_sql.shell.formats import formats
from paimon_sql.shell.pieces import Piece, from_file
from paimon_sql.shell.runner import ExitShell, Runner

_MAX_DEPTH = 20
_EXAMPLES = (
    ("SHOW TABLES; DESCRIBE t;", "list and describe tables"),
    ("SELECT * FROM `t$snapshots`;", "a system table: $snapshots, $files, $options, $audit_log, …"),
    ("SELECT * FROM t VERSION AS OF 3;", "time travel"),
    ("CALL sys.compact(table => 't');", "a procedure; SHOW PROCEDURES IN sys; lists them"),
)


@dataclass(frozen=True)
class Command:
    """A command; its name is the first word of the usage.

    ``run`` takes the text after the name, and returns False if a statement failed.
    """

    usage: str
    meaning: str
    run: Callable[[Runner, str], bool | None]


def run_command(runner: Runner, text: str) -> bool:
    """Run a command; returns whether it succeeded.

    Raises:
        ExitShell: the command is ``quit`` or ``exit``.
    """
    try:
        if text.startswith("!"):
            runner.out.file.flush()
            _shell(text[1:])
            return True
        name, _, rest = text.strip().partition(" ")
        command = COMMANDS.get(name.lower())
        if command is None:
            raise InvalidInputError(f"Unknown command {name}.", remedy="Type help to list the commands.")
        return command.run(runner, rest.strip()) is not False
    except InvalidInputError as error:
        runner.fail(error)
        return False


def _shell(command: str) -> None:
    if status := subprocess.run(command, shell=True, check=False).returncode:
        raise InvalidInputError(f"The command exited with status {status}: {command.strip()}")


def _help(runner: Runner, _: str) -> None:
    grid = Table.grid(padding=(0, 3))
    for usage, meaning in _EXAMPLES:
        grid.add_row(Text(usage), Text(meaning, style="dim"))
    grid.add_row()
    for command in dict.fromkeys(COMMANDS.values()):
        grid.add_row(Text(command.usage), Text(command.meaning, style="dim"))
    grid.add_row(Text("!COMMAND"), Text("run a command of the operating system", style="dim"))
    grid.add_row()
    for name, form in formats().items():
        grid.add_row(Text(f"  {name}"), Text(form.summary, style="dim"))
    runner.out.print("Statements end with ';' and may span several lines. Commands take one line and need no ';'.")
    runner.out.print(grid)


def _quit(runner: Runner, _: str) -> None:
    raise ExitShell


def _clear(runner: Runner, _: str) -> None:
    runner.out.clear()


def _source(runner: Runner, argument: str) -> bool:
    if len(runner.sources) == _MAX_DEPTH:
        raise InvalidInputError(f"Source files are nested more than {_MAX_DEPTH} deep: {', '.join(runner.sources)}.")
    name = _word(argument, "source FILE")
    source = from_file(name)
    runner.sources.append(name)
    try:
        return runner.run(source.pieces, source.origin)
    finally:
        runner.sources.pop()


def _format(runner: Runner, argument: str) -> None:
    if argument not in formats():
        problem = f"'{argument}' is not an output format." if argument else "No output format given."
        raise InvalidInputError(problem, remedy=f"Use {', '.join(formats())}.")
    runner.settings.format = argument


def _timing(runner: Runner, argument: str) -> None:
    if argument.lower() not in ("on", "off"):
        raise InvalidInputError(".timing takes on or off.")
    runner.settings.timing = argument.lower() == "on"


def _limit(runner: Runner, argument: str) -> None:
    if not argument.isdecimal():
        raise InvalidInputError(".limit takes a number of rows, 0 for all.")
    runner.settings.limit = int(argument) or None


def _tables(runner: Runner, argument: str) -> bool:
    statement = f"SHOW TABLES IN {argument}" if argument else "SHOW TABLES"
    return runner.run([Piece("statement", statement, 1, len(statement), complete=True)])


def _error(runner: Runner, _: str) -> None:
    problem = runner.last_problem
    runner.report.note(problem.details or problem.message if problem else "No error occurred yet.")


def _word(argument: str, usage: str) -> str:
    try:
        words = shlex.split(argument)
    except ValueError:
        words = []
    if len(words) != 1:
        raise InvalidInputError(f"Usage: {usage}", remedy="Quote a name that contains spaces.")
    return words[0]


_QUIT = Command("quit", "exit the shell, as do exit and Ctrl-D", _quit)
COMMANDS: dict[str, Command] = {
    command.usage.split()[0]: command
    for command in (
        Command("help", "show this help", _help),
        _QUIT,
        Command("source FILE", "run the statements of a file", _source),
        Command("clear", "clear the screen", _clear),
        Command(".format NAME", f"set the output format: {', '.join(formats())}", _format),
        Command(".limit N", "set the max number of rows to show per result, 0 for all", _limit),
        Command(".timing on|off", "show row counts and times or not", _timing),
        Command(".tables [DATABASE]", "short for SHOW TABLES", _tables),
        Command(".error", "show all details of the last error", _error),
    )
} | {"exit": _QUIT}
"""The commands by name."""
