"""The command ``paimon-sql``: command line arguments and subcommands."""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import pyspark
import typer
from rich.console import Console
from typer.models import OptionInfo

import paimon_sql
from paimon_sql.catalog.registry import normalized_warehouse
from paimon_sql.errors import InvalidInputError
from paimon_sql.shell.call import HELP, call_procedure, help_text
from paimon_sql.shell.commands import run_command
from paimon_sql.shell.engine.engine import Engine, Interrupted
from paimon_sql.shell.engine.errors import describe
from paimon_sql.shell.engine.report import Report, show_commits
from paimon_sql.shell.formats import formats
from paimon_sql.shell.pieces import Piece, Source, from_file, from_stream, split, text_of
from paimon_sql.shell.prompt import Prompt
from paimon_sql.shell.runner import ExitShell, Runner, Settings
from paimon_sql.shell.setup import Setup, address, archive_classes, serve
from paimon_sql.spark.session.connect import DEFAULT_WAREHOUSE
from paimon_sql.spark.thrift.server import PREFIX
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.translate import as_flink, as_spark, format_sql

FAILED = 1
INTERRUPTED = 128 + signal.SIGINT
PIPE_CLOSED = 128 + signal.SIGPIPE
_UNBOUNDED_WIDTH = 1_000_000
_TRANSLATIONS: dict[str, Callable[[str], str]] = {"spark": as_spark, "flink": as_flink}
"""Translations by the name of the target dialect."""

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


def _option(names: str, metavar: str | None, about: str, **settings: object) -> OptionInfo:
    """An option of these names, separated by blanks."""
    info: OptionInfo = typer.Option(*names.split(), metavar=metavar, help=about, **settings)  # type: ignore[arg-type]
    return info


def _pairs_option(names: str, about: str, metavar: str = "KEY=VALUE") -> OptionInfo:
    """An option with pairs of a name and a value; it may be repeated."""
    return _option(names, metavar, f"{about}; repeatable.", callback=_check_pairs)


_WAREHOUSE = "The directory or URI of the warehouse."
_Warehouse = Annotated[str | None, _option("-w --warehouse", "PATH", _WAREHOUSE)]
_CatalogOptions = Annotated[_Repeated, _pairs_option("--catalog-option", "An option of the catalog 'paimon'")]
_Master = Annotated[str | None, _option("--master", "URL", "Spark's master.  [default: local[*]]")]
_Silent = Annotated[bool, _option("-S --silent", None, "Print only errors.")]
_FORMATS = f"Output format: {', '.join(formats())}."
_TIMING = "Print row counts and times.  [default: at the prompt]"


@app.callback(invoke_without_command=True)
def sql(
    context: typer.Context,
    execute: Annotated[_Repeated, _option("-e --execute", "SQL", "Run these statements and exit; repeatable.")] = None,
    file: Annotated[
        _Repeated, _option("-f --file", "FILE", "Run a file and exit, - for standard input; repeatable.")
    ] = None,
    init: Annotated[_Repeated, _option("-i --init", "FILE", "Run a file before everything else; repeatable.")] = None,
    warehouse: Annotated[str | None, _option("-w --warehouse", "PATH", f"{_WAREHOUSE}  [default: ./warehouse]")] = None,
    database: Annotated[str | None, _option("--database", "DB", "The current database: db or catalog.db.")] = None,
    catalog_option: _CatalogOptions = None,
    conf: Annotated[_Repeated, _pairs_option("-c --conf", "A setting of Spark")] = None,
    master: _Master = None,
    define: Annotated[
        _Repeated, _pairs_option("-d --define --hivevar", "The value of ${NAME}", metavar="NAME=VALUE")
    ] = None,
    output: Annotated[str, _option("--format", "NAME", _FORMATS, callback=_check_format)] = "table",
    limit: Annotated[int, _option("--limit", "N", "Max rows in human-readable formats; 0 for all.", min=0)] = 1000,
    header: Annotated[bool, typer.Option(help="Print column names.")] = True,
    timing: Annotated[bool | None, _option("--timing/--no-timing", None, _TIMING, show_default=False)] = None,
    keep_going: Annotated[bool, _option("--continue-on-error", None, "Continue after a failed statement.")] = False,
    silent: _Silent = False,
    verbose: Annotated[
        bool, _option("-v --verbose", None, "Print each statement, each commit, and all details of errors.")
    ] = False,
    version: Annotated[
        bool, _option("--version", None, "Print the versions and exit.", callback=_show_version, is_eager=True)
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
    status = _exit_status(lambda: _work(runner, before, sources, setup), runner.fail)
    raise typer.Exit(FAILED if status == 0 and runner.failures else status)


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
        _Repeated, _pairs_option("--catalog-option --catalog_conf", "An option of the catalog")
    ] = None,
    output: Annotated[str | None, _option("--format", "NAME", "Output format.", callback=_check_format)] = None,
    silent: _Silent = False,
) -> None:
    """Run ``paimon-sql call``."""
    if procedure is None or not HELP.isdisjoint([procedure, *context.args]):
        _exit(lambda: typer.echo(help_text(None if procedure in HELP else procedure)), _report().error)
    _call(context, procedure, context.args, warehouse, catalog_option, output=output, silent=silent)


@app.command("report", help="Write an HTML page with charts of a table's state, without Spark.")
def report_on(
    context: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table: t or db.t.")],
    path: Annotated[str | None, _option("-o --output", "FILE", "The file to write, or a directory for it.")] = None,
    images: Annotated[str | None, _option("--images", "DIRECTORY", "Directory for the charts as PNG.")] = None,
    orphans: Annotated[bool, _option("--orphans", None, "Search for orphan files.")] = False,
    warehouse: _Warehouse = None,
    catalog_option: Annotated[_Repeated, _pairs_option("--catalog-option", "An option of the catalog")] = None,
) -> None:
    """Run ``paimon-sql report``: call the procedure ``report``."""
    given = {"--table": table, "--path": path, "--images": images, "--orphans": "true" if orphans else None}
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    _call(context, "report", words, warehouse, catalog_option)


@app.command("thriftserver", help="Serve JDBC, ODBC and Thrift clients until Ctrl-C or SIGTERM.")
def thriftserver(
    context: typer.Context,
    host: Annotated[
        str, _option("--host", "ADDRESS", "The address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Annotated[int, _option("-p --port", "N", "The port; 0 for any free port.", min=0, max=65535)] = 10000,
    http: Annotated[bool, _option("--http", None, "Use HTTP instead of the binary protocol.")] = False,
    warehouse: _Warehouse = None,
    catalog_option: _CatalogOptions = None,
    conf: Annotated[
        _Repeated, _pairs_option("-c --conf", "A setting of Spark, or of the server: hive.server2.…")
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
    _exit(partial(serve, setup, {**address(host, port, http=http), **options}, report), report.error)


@app.command("archive-classes", help="Let Spark start faster on this machine: archive the classes that it loads.")
def archive() -> None:
    """Run ``paimon-sql archive-classes``."""
    report = _report()
    _exit(partial(archive_classes, report), report.error)


_Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of statements, - for standard input.")]


@app.command("transpile", help="Translate statements to the syntax of Spark or Flink, without Spark.")
def transpile(
    files: _Files,
    to: Annotated[str, _option("--to", "NAME", f"Target dialect: {', '.join(_TRANSLATIONS)}.")] = "spark",
) -> None:
    """Run ``paimon-sql transpile``."""
    if to not in _TRANSLATIONS:
        raise typer.BadParameter(f"'{to}' is not one of {', '.join(_TRANSLATIONS)}.", param_hint="--to")
    _translate(files, _TRANSLATIONS[to])


@app.command("format", help="Format statements, without Spark; comments are kept.")
def format_files(
    files: _Files,
    write: Annotated[bool, _option("--write", None, "Change the files instead of printing them.")] = False,
) -> None:
    """Run ``paimon-sql format``."""
    _translate(files, format_sql, write=write)


def _translate(files: Sequence[str], translation: Callable[[str], str], *, write: bool = False) -> NoReturn:
    """Translate all files before any is printed or written, so that an error changes none.

    Text between statements is unchanged.
    """
    report, name = _report(), ""
    piece: Piece | None = None

    def fail(error: Exception) -> None:
        if piece is not None and isinstance(error, SqlSyntaxError):
            report.problem(describe(error, piece.text), piece.text, origin=name, line=piece.line)
        else:
            report.error(error)

    def translated(text: str) -> Iterator[str]:
        nonlocal piece
        position = 0
        for piece in split(text):
            start = text.index(piece.text, position)
            yield text[position:start]
            yield translation(piece.text) if piece.kind == "statement" else piece.text
            position = start + len(piece.text)
        yield text[position:]

    def work() -> None:
        nonlocal name
        done: list[tuple[str, str, str]] = []
        for name in files:
            text = (sys.stdin.read() if sys.stdin else "") if name == "-" else text_of(name)
            done.append((name, text, "".join(translated(text))))
        for name, text, new in done:
            if not write or name == "-":
                typer.echo(new, nl=not new.endswith("\n"))
            elif new != text:
                Path(name).expanduser().write_text(new, encoding="utf-8")
                report.note(f"{name} changed")

    _exit(work, fail)


def _call(
    context: typer.Context,
    procedure: str,
    words: Sequence[str],
    warehouse: str | None,
    catalog_option: list[str] | None,
    *,
    output: str | None = None,
    silent: bool = False,
) -> NoReturn:
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
    _exit(partial(call_procedure, procedure, words, options, form, report.console, silent=quiet), report.error)


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


def _exit(work: Callable[[], None], fail: Callable[[Exception], None]) -> NoReturn:
    """Run work and exit with its status; an error is reported by ``fail``."""
    raise typer.Exit(_exit_status(work, fail))


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
