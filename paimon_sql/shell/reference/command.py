"""Reference page of the command ``paimon-sql``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from paimon_sql.shell.commands import COMMANDS
from paimon_sql.shell.formats import formats
from paimon_sql.shell.main import FAILED, INTERRUPTED, PIPE_CLOSED, app
from paimon_sql.shell.reference.markdown import code, sentence, table

_WRONG_ARGUMENTS = 2


def command_page() -> str:
    """The page: arguments, commands of the shell, formats and exit status."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    command: Any = typer.main.get_command(app)
    call = command.commands["call"]
    yield from ("# The command paimon-sql", "", str(app.info.help))
    yield "How it is used shows [The shell](../shell.md)."
    yield from ("", "## Arguments")
    yield from table(("argument", "meaning", "default"), map(_argument, _arguments(command)))
    yield from ("", "## call", "", f"`paimon-sql call PROCEDURE [--ARGUMENT VALUE]...`: {call.help}")
    yield "How it is written shows [Maintenance](../maintenance.md#without-spark)."
    yield from table(("argument", "meaning", "default"), map(_argument, _arguments(call)))
    yield from ("", "## Commands", "", "Each takes one line and needs no `;`.")
    commands = [(code(c.usage), sentence(c.meaning)) for c in dict.fromkeys(COMMANDS.values())]
    yield from table(("command", "meaning"), [*commands, (code("!COMMAND"), "Run a command of the operating system.")])
    yield from ("", "## Formats", "", "For `--format` and `.format`.")
    yield from table(("format", "meaning"), ((code(name), sentence(f.summary)) for name, f in formats().items()))
    yield from ("", "## Exit status")
    statuses = {
        0: "Every statement went well.",
        FAILED: "A statement failed, or Spark did not start.",
        _WRONG_ARGUMENTS: "The arguments are wrong.",
        INTERRUPTED: "Ctrl-C.",
        PIPE_CLOSED: "Who reads the output has gone.",
    }
    yield from table(("status", "meaning"), ((str(status), meaning) for status, meaning in statuses.items()))


def _arguments(command: Any) -> list[Any]:
    return [p for p in command.params if p.name not in ("help", "procedure")]


def _argument(argument: Any) -> tuple[str, str, str]:
    names = ", ".join(map(code, [*argument.opts, *argument.secondary_opts]))
    metavar = f" {argument.metavar}" if argument.metavar else ""
    # The help ends with the default where that is not the value itself.
    text, has_default = re.subn(r"\s*\[default: (.*)\]$", "", str(argument.help))
    default = ""
    if has_default:
        default = str(argument.help).rpartition("[default: ")[2].removesuffix("]")
    elif not argument.is_flag and argument.default not in (None, (), []):
        default = str(argument.default)
    elif argument.secondary_opts and argument.default is True:
        default = argument.opts[0]
    return names + metavar, sentence(text), default and code(default)
