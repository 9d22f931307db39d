"""The reference pages, by file name, and those of the command, statements, procedures and system tables."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import cast

import typer
from typer.core import TyperGroup, TyperOption

from paimon_sql import system_tables as tables
from paimon_sql.format.options import generate_docs
from paimon_sql.format.schema.types import DataField
from paimon_sql.procedures import Procedure, procedures
from paimon_sql.shell.app import app
from paimon_sql.shell.commands import COMMANDS
from paimon_sql.shell.console import FAILED, INTERRUPTED, PIPE_CLOSED
from paimon_sql.shell.formats import formats
from paimon_sql.shell.reference.python_page import python_page
from paimon_sql.sql.statements.base import DECLARED


def pages() -> dict[str, str]:
    """The pages by file name."""
    found = {
        "procedures.md": [*_PROCEDURES_HEAD, *chain(*map(_procedure_section, procedures().values()))],
        "system_tables.md": _system_tables_page(),
        "cli.md": _command_page(),
        "statements.md": _statements_page(),
        "python.md": python_page(),
    }
    return {"options.md": generate_docs()} | {name: "\n".join(lines) + "\n" for name, lines in found.items()}


def code(text: str) -> str:
    """Format as code."""
    return f"`{text}`"


def sentence(text: str) -> str:
    """Add a full stop, and a capital if the text begins with a word."""
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    return text[0].upper() + text[1:] if text.split()[0].rstrip(",.;:'s").isalpha() else text


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table, after an empty line."""
    head = list(head)
    return ["", _row(head), "|" + "---|" * len(head), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_WRONG_ARGUMENTS = 2
_SUBCOMMANDS = (
    ("call", "PROCEDURE [--ARGUMENT VALUE]...", "See [Maintenance](../maintenance.md#without-spark) for usage."),
    ("doctor", "[OPTIONS]", "See [The shell](../shell.md#doctor) for what it checks."),
)
"""The subcommands of the page, with their usage and where more is said."""


def _command_page() -> Iterator[str]:
    """The page: arguments, commands of the shell, formats and exit status."""
    command = cast("TyperGroup", typer.main.get_command(app))
    yield from ("# The command paimon-sql", "", str(app.info.help))
    yield "See [The shell](../shell.md) for usage."
    yield from ("", "## Arguments")
    yield from table(("argument", "meaning", "default"), map(_argument, _arguments(command.params)))
    for name, usage, see in _SUBCOMMANDS:
        subcommand = command.commands[name]
        yield from ("", f"## {name}", "", f"`paimon-sql {name} {usage}`: {subcommand.help}", see)
        yield from table(("argument", "meaning", "default"), map(_argument, _arguments(subcommand.params)))
    yield from ("", "## Commands", "", "Each takes one line and needs no `;`.")
    commands = [(code(c.usage), sentence(c.meaning)) for c in dict.fromkeys(COMMANDS.values())]
    yield from table(("command", "meaning"), [*commands, (code("!COMMAND"), "Run a command of the operating system.")])
    yield from ("", "## Formats", "", "For `--format` and `.format`.")
    yield from table(("format", "meaning"), ((code(name), sentence(f.summary)) for name, f in formats().items()))
    yield from ("", "## Exit status")
    statuses = {
        0: "All statements succeeded.",
        FAILED: "A statement failed, or Spark did not start.",
        _WRONG_ARGUMENTS: "The arguments are invalid.",
        INTERRUPTED: "Ctrl-C.",
        PIPE_CLOSED: "The reader of the output closed it.",
    }
    yield from table(("status", "meaning"), ((str(status), meaning) for status, meaning in statuses.items()))


def _arguments(parameters: Sequence[object]) -> list[TyperOption]:
    return [p for p in cast("Sequence[TyperOption]", parameters) if p.name not in ("help", "procedure")]


def _argument(argument: TyperOption) -> tuple[str, str, str]:
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


_PROCEDURES_HEAD = (
    "# Procedures",
    "",
    "Procedures are in `sys` and are called with `CALL`, with arguments by name or in this order. Arguments that",
    "are not marked *required* are optional. Result columns marked + are additional; the others are those of",
    "Apache Paimon's Spark connector. See [Procedures](../procedures.md) for the syntax of calls.",
)


def _procedure_section(procedure: Procedure) -> Iterator[str]:
    yield from ("", f"## {procedure.name}", "", procedure.summary, "", inspect.getdoc(type(procedure)) or "")
    yield from ("", "```", procedure.example, "```")
    arguments = (
        (code(a.name), a.type.as_nullable().sql(), sentence(a.meaning) + (" *Required.*" if a.required else ""))
        for a in procedure.arguments
    )
    yield from table(("argument", "type", "meaning"), arguments)
    results = [*(_result(c, "") for c in procedure.results), *(_result(c, " +") for c in procedure.details)]
    yield from table(("result", "type", "meaning"), results)


def _result(column: DataField, mark: str) -> tuple[str, str, str]:
    return code(column.name) + mark, column.type.as_nullable().sql(), sentence(column.description or "")


_STATEMENTS_HEAD = (
    "# Statements",
    "",
    "The statements that Spark's grammar lacks, or that Spark cannot execute on Paimon tables. See"
    " [SQL dialect](../sql-dialect.md) for all others. Lower-case words are names and values; `[..]` is optional, and"
    " `A|B` is a choice.",
)


def _statements_page() -> Iterator[str]:
    """The page: statements by module."""
    yield from _STATEMENTS_HEAD
    for module, family in groupby(DECLARED, key=lambda each: each.__module__):
        title = module.rpartition(".")[2].replace("_", " ").capitalize()
        yield from ("", f"## {title}", "", _summary(sys.modules[module]))
        for statement in family:
            yield from ("", "```", *(grammar.usage() for grammar in statement.GRAMMARS), "```", "")
            yield _summary(statement).replace("``", "`")


def _summary(documented: object) -> str:
    """The first paragraph of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n\n")[0]


_TABLES_HEAD = (
    "# System tables",
    "",
    "The tables `t$name` of a table `t`. See [System tables](../system-tables.md) for their use.",
)
_OF_CATALOGS = ("", "# Tables of the database sys", "", "These tables describe a whole catalog.")


def _system_tables_page() -> Iterator[str]:
    """The page: system tables, with their columns unless these depend on the table."""
    found: dict[str, tables.SystemTable | tables.ScannedTable | tables.TableView] = {
        **tables.system_tables(),
        **tables.scanned_tables(),
        **tables.table_views(),
    }
    yield from chain(_TABLES_HEAD, *(_table_section(found[name]) for name in sorted(found)))
    yield from chain(_OF_CATALOGS, *map(_table_section, tables.catalog_tables().values()))


def _table_section(
    system_table: tables.SystemTable | tables.ScannedTable | tables.TableView | tables.CatalogTable,
) -> Iterator[str]:
    name = f"sys.{system_table.name}" if isinstance(system_table, tables.CatalogTable) else system_table.name
    yield from ("", f"## {name}", "", system_table.summary, "", inspect.getdoc(type(system_table)) or "")
    if not isinstance(system_table, tables.SystemTable | tables.CatalogTable):
        return
    rows = ((code(c.name), c.type.as_nullable().sql(), sentence(c.description or "")) for c in system_table.columns)
    yield from table(("column", "type", "meaning"), rows)
