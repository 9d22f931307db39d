"""The command ``paimon-sql``: command line arguments and subcommands."""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import pyspark
import typer
from rich.console import Console
from typer.models import OptionInfo

import paimon_sql
from paimon_sql.catalog.registry import normalized_warehouse
from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures import find_procedure
from paimon_sql.shell.call import HELP, call_procedure, help_text, wants_help
from paimon_sql.shell.commands import run_command
from paimon_sql.shell.engine.engine import Engine, Interrupted
from paimon_sql.shell.engine.errors import describe
from paimon_sql.shell.engine.report import Report, show_commits
from paimon_sql.shell.formats import formats
from paimon_sql.shell.pieces import Source, from_file, from_stream, split, text_of
from paimon_sql.shell.prompt.prompt import Prompt
from paimon_sql.shell.runner import ExitShell, Runner, Settings
from paimon_sql.shell.setup import Setup, address, serve
from paimon_sql.shell.translate import FORMAT, TRANSLATIONS, Translation, UntranslatedError, translated
from paimon_sql.spark.session.connect import DEFAULT_WAREHOUSE
from paimon_sql.spark.thrift.server import PREFIX

FAILED = 1
INTERRUPTED = 128 + signal.SIGINT
PIPE_CLOSED = 128 + signal.SIGPIPE
_UNBOUNDED_WIDTH = 1_000_000

app = typer.Typer(
    name="paimon-sql",
    help="SQL for Apache Paimon tables. Without -e, -f or piped standard input, statements are read interactively.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    subcommand_metavar="[COMMAND]",
    add_completion=False,
)


def main() -> None:
    """Run the command line; exits with its status."""
    app()


def _pairs(values: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise typer.BadParameter(f"'{value}' is not KEY=VALUE.")
        pairs[key.strip()] = text
    return pairs


def _check_pairs(values: list[str] | None) -> list[str]:
    _pairs(values or [])
    return values or []


def _check_format(name: str | None) -> str | None:
    if name is not None and name not in formats():
        raise typer.BadParameter(f"'{name}' is not one of {', '.join(formats())}.")
    return name


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(
            f"paimon-sql {paimon_sql.__version__} (Spark {pyspark.__version__}, Python {platform.python_version()})"
        )
        raise typer.Exit


_Repeated = list[str] | None


def _pairs_option(*names: str, about: str, metavar: str = "KEY=VALUE") -> OptionInfo:
    """An option with pairs of a name and a value; it may be repeated."""
    info: OptionInfo = typer.Option(*names, metavar=metavar, callback=_check_pairs, help=f"{about}; repeatable.")
    return info


_Warehouse = Annotated[
    str | None, typer.Option("-w", "--warehouse", metavar="PATH", help="The directory or URI of the warehouse.")
]
_CatalogOptions = Annotated[_Repeated, _pairs_option("--catalog-option", about="An option of the catalog 'paimon'")]
_Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.  [default: local[*]]")]


@app.callback(invoke_without_command=True)
def sql(
    context: typer.Context,
    execute: Annotated[
        _Repeated,
        typer.Option("-e", "--execute", metavar="SQL", help="Run these statements and exit; repeatable."),
    ] = None,
    file: Annotated[
        _Repeated,
        typer.Option("-f", "--file", metavar="FILE", help="Run a file and exit, - for standard input; repeatable."),
    ] = None,
    init: Annotated[
        _Repeated, typer.Option("-i", "--init", metavar="FILE", help="Run a file before everything else; repeatable.")
    ] = None,
    warehouse: Annotated[
        str | None,
        typer.Option(
            "-w", "--warehouse", metavar="PATH", help="The directory or URI of the warehouse.  [default: ./warehouse]"
        ),
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="DB", help="The current database: db or catalog.db.")
    ] = None,
    catalog_option: _CatalogOptions = None,
    conf: Annotated[_Repeated, _pairs_option("-c", "--conf", about="A setting of Spark")] = None,
    master: _Master = None,
    define: Annotated[
        _Repeated, _pairs_option("-d", "--define", "--hivevar", metavar="NAME=VALUE", about="The value of ${NAME}")
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", callback=_check_format, help=f"Output format: {', '.join(formats())}."
        ),
    ] = "table",
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=0, help="Max rows in human-readable formats; 0 for all."),
    ] = 1000,
    header: Annotated[bool, typer.Option(help="Print column names.")] = True,
    timing: Annotated[
        bool | None,
        typer.Option(
            "--timing/--no-timing", help="Print row counts and times.  [default: at the prompt]", show_default=False
        ),
    ] = None,
    keep_going: Annotated[bool, typer.Option("--continue-on-error", help="Continue after a failed statement.")] = False,
    silent: Annotated[bool, typer.Option("-S", "--silent", help="Print only errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print each statement, each commit, and all details of errors.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the versions and exit.")
    ] = False,
) -> None:
    """Run SQL, if there is no subcommand."""
    if context.invoked_subcommand is not None:
        return
    if execute and file:
        raise typer.BadParameter(
            "Use either -e or -f: their relative order is unknown. A statement 'source FILE;' runs a file."
        )
    typed = not execute and not file and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    setup = Setup(
        warehouse=warehouse,
        conf=_settings_of_spark(conf, catalog_option, master),
        database=database,
        variables=_pairs(define or []),
    )
    settings = Settings(
        format=output,
        limit=limit or None,
        header=header,
        timing=typed if timing is None else timing,
        silent=silent,
        echo=verbose,
        keep_going=keep_going,
    )
    try:
        before = [from_file(name) for name in init or []]
        sources = _sources(execute or [], file or [], typed=typed)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    report = _report(verbose)
    runner = Runner(Engine(setup.start), settings, _standard_output(), report, run_command)
    raise typer.Exit(_status(runner, lambda: _work(runner, before, sources, setup)))


@app.command(
    "call",
    help="Call a procedure in this process, without Spark: its arguments are --name value.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def call(
    context: typer.Context,
    procedure: Annotated[str | None, typer.Argument(metavar="PROCEDURE", help="Its name, such as sys.compact.")] = None,
    warehouse: _Warehouse = None,
    catalog_option: Annotated[
        _Repeated, _pairs_option("--catalog-option", "--catalog_conf", about="An option of the catalog")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--format", metavar="NAME", callback=_check_format, help="Output format.")
    ] = None,
    silent: Annotated[bool, typer.Option("-S", "--silent", help="Print only errors.")] = False,
) -> None:
    """Run ``paimon-sql call``."""
    if procedure is not None and procedure not in HELP and not wants_help(context.args):
        _call(context, procedure, context.args, warehouse, catalog_option, output=output, silent=silent)
    report = _report()

    def show_help() -> None:
        typer.echo(help_text(None if procedure is None or procedure in HELP else find_procedure(procedure)))

    raise typer.Exit(_exit_status(show_help, lambda error: report.problem(describe(error))))


@app.command("report", help="Write an HTML page with charts of a table's state, without Spark.")
def report_on(
    context: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table: t or db.t.")],
    path: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="The file to write, or a directory for it.")
    ] = None,
    images: Annotated[
        str | None, typer.Option("--images", metavar="DIRECTORY", help="Directory for the charts as PNG.")
    ] = None,
    orphans: Annotated[bool, typer.Option("--orphans", help="Search for orphan files.")] = False,
    warehouse: _Warehouse = None,
    catalog_option: Annotated[_Repeated, _pairs_option("--catalog-option", about="An option of the catalog")] = None,
) -> None:
    """Run ``paimon-sql report``: call the procedure ``report``."""
    given = {"--table": table, "--path": path, "--images": images, "--orphans": "true" if orphans else None}
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    _call(context, "report", words, warehouse, catalog_option)


@app.command("thriftserver", help="Serve JDBC, ODBC and Thrift clients until Ctrl-C or SIGTERM.")
def thriftserver(
    context: typer.Context,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("-p", "--port", metavar="N", min=0, max=65535, help="The port; 0 for any free port.")
    ] = 10000,
    http: Annotated[bool, typer.Option("--http", help="Use HTTP instead of the binary protocol.")] = False,
    warehouse: _Warehouse = None,
    catalog_option: _CatalogOptions = None,
    conf: Annotated[
        _Repeated, _pairs_option("-c", "--conf", about="A setting of Spark, or of the server: hive.server2.…")
    ] = None,
    master: _Master = None,
) -> None:
    """Run ``paimon-sql thriftserver``; its own arguments win over those before the subcommand."""
    before = context.parent.params if context.parent else {}
    report = _report(before.get("verbose"))
    given = _pairs([*(before.get("conf") or []), *(conf or [])])
    options = {key: value for key, value in given.items() if key.startswith(PREFIX)}
    catalog = [*(before.get("catalog_option") or []), *(catalog_option or [])]
    settings = [f"{key}={value}" for key, value in given.items() if not key.startswith(PREFIX)]
    setup = Setup(
        warehouse=warehouse or before.get("warehouse"),
        conf=_settings_of_spark(settings, catalog, master or before.get("master")),
    )
    serving = partial(serve, setup, {**address(host, port, http=http), **options}, report)
    raise typer.Exit(_exit_status(serving, lambda error: report.problem(describe(error))))


_Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of statements, - for standard input.")]


@app.command("transpile", help="Translate statements to the syntax of Spark or Flink, without Spark.")
def transpile(
    files: _Files,
    to: Annotated[
        str, typer.Option("--to", metavar="NAME", help=f"Target dialect: {', '.join(TRANSLATIONS)}.")
    ] = "spark",
) -> None:
    """Run ``paimon-sql transpile``."""
    if to not in TRANSLATIONS:
        raise typer.BadParameter(f"'{to}' is not one of {', '.join(TRANSLATIONS)}.", param_hint="--to")
    _translate(files, TRANSLATIONS[to])


@app.command("format", help="Format statements, without Spark; comments are kept.")
def format_files(
    files: _Files,
    write: Annotated[bool, typer.Option("--write", help="Change the files instead of printing them.")] = False,
) -> None:
    """Run ``paimon-sql format``."""
    _translate(files, FORMAT, write=write)


def _translate(files: Sequence[str], translation: Translation, *, write: bool = False) -> None:
    """Translate all files before any is printed or written, so that an error changes none."""
    report, name = _report(), ""

    def fail(error: Exception) -> None:
        if isinstance(error, UntranslatedError):
            problem = describe(error.__cause__ or error, error.statement)
            report.problem(problem, error.statement, origin=name, line=error.line)
        else:
            report.problem(describe(error))

    def work() -> None:
        nonlocal name
        done: list[tuple[str, str, str]] = []
        for name in files:
            text = (sys.stdin.read() if sys.stdin else "") if name == "-" else text_of(name)
            done.append((name, text, translated(text, translation)))
        for name, text, new in done:
            if not write or name == "-":
                typer.echo(new, nl=not new.endswith("\n"))
            elif new != text:
                Path(name).expanduser().write_text(new, encoding="utf-8")
                report.note(f"{name} changed")

    raise typer.Exit(_exit_status(work, fail))


def _call(
    context: typer.Context,
    procedure: str,
    words: Sequence[str],
    warehouse: str | None,
    catalog_option: list[str] | None,
    *,
    output: str | None = None,
    silent: bool = False,
) -> None:
    """Call a procedure without Spark; arguments of the subcommand win over those before it."""
    before = context.parent.params if context.parent else {}
    report = _report(before.get("verbose"))
    form = formats()[output or before.get("output") or "table"](_standard_output(), header=before.get("header", True))
    given = {**_pairs(before.get("catalog_option") or []), **_pairs(catalog_option or [])}
    options = {
        "warehouse": normalized_warehouse(warehouse or before.get("warehouse") or DEFAULT_WAREHOUSE, given),
        **given,
    }
    quiet = silent or bool(before.get("silent"))
    work = partial(call_procedure, procedure, words, options, form, report.console, silent=quiet)
    raise typer.Exit(_exit_status(work, lambda error: report.problem(describe(error))))


def _work(runner: Runner, before: Sequence[Source], sources: Sequence[Source], setup: Setup) -> None:
    if not sources:
        Prompt(runner, before, setup.warehouse).run()
    elif runner.start_engine():
        with suppress(ExitShell):
            for source in (*before, *sources):
                if not runner.run(source.pieces, source.origin) and not runner.settings.keep_going:
                    break


def _settings_of_spark(conf: list[str] | None, catalog: list[str] | None, master: str | None) -> dict[str, str]:
    settings = {f"spark.sql.catalog.paimon.{key}": value for key, value in _pairs(catalog or []).items()}
    if master:
        settings["spark.master"] = master
    return settings | _pairs(conf or [])


def _sources(execute: Sequence[str], files: Sequence[str], *, typed: bool) -> list[Source]:
    if execute:
        return [Source(split(text)) for text in execute]
    if files:
        return [from_stream(sys.stdin or ()) if name == "-" else from_file(name) for name in files]
    return [] if typed else [from_stream(sys.stdin or ())]


def _report(verbose: bool | None = False) -> Report:
    """The report on standard error; verbose, with a line per commit."""
    report = Report(Console(stderr=True, highlight=False, markup=False), verbose=bool(verbose))
    if report.verbose:
        show_commits(report.console)
    return report


def _standard_output() -> Console:
    # Escape characters that the terminal's encoding lacks, instead of failing in the middle of a result.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    width = None if sys.stdout.isatty() else _UNBOUNDED_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def _status(runner: Runner, work: Callable[[], None]) -> int:
    """Run the shell's work; returns the exit status, `FAILED` after any failed statement."""
    status = _exit_status(work, runner.fail)
    return FAILED if status == 0 and runner.failures else status


def _exit_status(work: Callable[[], None], fail: Callable[[Exception], None]) -> int:
    """Run work; returns the exit status for its outcome, and reports an error by ``fail``."""
    try:
        work()
    except (KeyboardInterrupt, Interrupted):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of standard output has closed it: Python would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        fail(error)
        return FAILED
    return 0
