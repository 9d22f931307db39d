"""The command ``paimon-sql``: command line arguments and subcommands.

Each command imports what it needs when it runs: Spark, the grammar and storage take longer to import than most calls
of procedures take.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer
from typer.models import OptionInfo

import paimon_sql
from paimon_sql.errors import InvalidInputError
from paimon_sql.observability.log_lines import FORMATS as LINES
from paimon_sql.observability.log_lines import LEVELS
from paimon_sql.shell.console import FAILED, exit_status, new_report, standard_output
from paimon_sql.shell.formats import formats
from paimon_sql.shell.subcommands import call_line
from paimon_sql.shell.subcommands.call_line import CallLine, asks_for_help, pairs_of, run_call

if TYPE_CHECKING:  # commands import what they need when they run
    from pyspark.sql import SparkSession

    from paimon_sql.shell.setup import Setup
    from paimon_sql.shell.subcommands.servers import Server

_TARGETS = ("spark", "flink")
"""The target dialects of ``transpile``."""

app = typer.Typer(
    name="paimon-sql",
    help="SQL for Apache Paimon tables. Without -e, -f or piped standard input, statements are read interactively.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    subcommand_metavar="[COMMAND]",
    add_completion=False,
)


def _pairs(values: Sequence[str]) -> dict[str, str]:
    try:
        return pairs_of(values)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error


def _check_pairs(values: list[str] | None) -> list[str]:
    _pairs(values or [])
    return values or []


def _check_among(names: Collection[str]) -> Callable[[str | None], str | None]:
    """A check that a value, if there is one, is one of these names."""

    def check(name: str | None) -> str | None:
        if name is not None and name not in names:
            raise typer.BadParameter(f"'{name}' is not one of {', '.join(names)}.")
        return name

    return check


_check_format = _check_among(formats())


def _show_version(wanted: bool) -> None:
    if wanted:
        python = platform.python_version()
        typer.echo(f"paimon-sql {paimon_sql.__version__} (Spark {_spark_version()}, Python {python})")
        raise typer.Exit


def _spark_version() -> str:
    """The version of PySpark, from the module that states it, without the rest of the package."""
    package = find_spec("pyspark")
    spec = PathFinder.find_spec("pyspark.version", package.submodule_search_locations if package else None)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.__version__)


_Repeated = list[str] | None


def _option(names: str, metavar: str | None, about: str, **settings: object) -> OptionInfo:
    """An option of these names, separated by blanks."""
    info: OptionInfo = typer.Option(*names.split(), metavar=metavar, help=about, **settings)  # type: ignore[arg-type]
    return info


def _pairs_option(names: str, about: str, metavar: str = "KEY=VALUE") -> OptionInfo:
    """An option with pairs of a name and a value; it may be repeated."""
    return _option(names, metavar, f"{about}; repeatable.", callback=_check_pairs)


_WAREHOUSE = "The directory or URI of the warehouse."
_Warehouse = Annotated[str | None, _option(call_line.WAREHOUSE, "PATH", _WAREHOUSE)]
_CatalogOptions = Annotated[_Repeated, _pairs_option("--catalog-option", "An option of the catalog 'paimon'")]
_Master = Annotated[str | None, _option("--master", "URL", "Spark's master.  [default: local[*]]")]
_Silent = Annotated[bool, _option(call_line.SILENT, None, "Print only errors.")]
_LogLevel = Annotated[
    str, _option("--log-level", "NAME", f"The lowest level: {', '.join(LEVELS)}.", callback=_check_among(LEVELS))
]
_LogFormat = Annotated[
    str, _option("--log-format", "NAME", f"Format of the log: {', '.join(LINES)}.", callback=_check_among(LINES))
]
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
    remote: Annotated[
        str | None,
        _option("--remote", "URL", "A Spark Connect server, such as sc://host:15002, instead of a Spark here."),
    ] = None,
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
    from paimon_sql.shell.pieces import from_file
    from paimon_sql.shell.runner import Settings
    from paimon_sql.shell.setup import Setup
    from paimon_sql.shell.subcommands.statements import run_sources, sources_of, starting_runner

    setup = Setup(
        warehouse=warehouse,
        conf=_settings_of_spark(conf, catalog_option, master),
        remote=remote,
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
        sources = sources_of(execute or [], file or [], typed=typed)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    runner = starting_runner(setup, settings, standard_output(), new_report(verbose))
    status = exit_status(lambda: run_sources(runner, before, sources, setup), runner.fail)
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
    catalog_option: Annotated[_Repeated, _pairs_option(call_line.CATALOG_OPTION, "An option of the catalog")] = None,
    output: Annotated[str | None, _option(call_line.FORMAT, "NAME", "Output format.", callback=_check_format)] = None,
    silent: _Silent = False,
) -> None:
    """Run ``paimon-sql call``."""
    if procedure is None or asks_for_help([procedure, *context.args]):
        _explain(None if procedure is None or asks_for_help([procedure]) else procedure)
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


_Host = Annotated[str, _option("--host", "ADDRESS", "The address to listen on; 0.0.0.0 for all interfaces.")]
_PORT = "The port; 0 for any free port."
_ServerConf = Annotated[_Repeated, _pairs_option("-c --conf", "A setting of Spark, or of the server")]
_MetricsPort = Annotated[
    int | None, _option("--metrics-port", "N", "Serve metrics to Prometheus at this port.", min=1, max=65535)
]
_Traces = Annotated[bool, _option("--traces", None, "Send spans by OTLP, as the variables OTEL_… tell.")]


class _Watching(NamedTuple):
    """How a server is watched: the port of its metrics at its address, its spans, its log."""

    host: str
    metrics_port: int | None
    traces: bool
    log_level: str
    log_format: str


@app.command("thriftserver", help="Serve JDBC, ODBC and Thrift clients until Ctrl-C or SIGTERM.")
def thriftserver(
    context: typer.Context,
    host: _Host = "127.0.0.1",
    port: Annotated[int, _option("-p --port", "N", _PORT, min=0, max=65535)] = 10000,
    http: Annotated[bool, _option("--http", None, "Use HTTP instead of the binary protocol.")] = False,
    warehouse: _Warehouse = None,
    catalog_option: _CatalogOptions = None,
    conf: _ServerConf = None,
    master: _Master = None,
    metrics_port: _MetricsPort = None,
    traces: _Traces = False,
    log_level: _LogLevel = "info",
    log_format: _LogFormat = "logfmt",
) -> None:
    """Run ``paimon-sql thriftserver``; its own arguments win over those before the subcommand."""
    from paimon_sql.shell.subcommands.servers import thrift_server

    setup, given = _server_setup(context, warehouse, catalog_option, conf, master, "hive.")
    watching = _Watching(host, metrics_port, traces, log_level, log_format)
    _serve(context, setup, lambda: thrift_server(host, port, given, http=http), watching)


@app.command("connect-server", help="Serve Spark Connect clients until Ctrl-C or SIGTERM.")
def connect_server(
    context: typer.Context,
    host: _Host = "127.0.0.1",
    port: Annotated[int, _option("-p --port", "N", _PORT, min=0, max=65535)] = 15002,
    token: Annotated[
        str | None,
        _option("--token", "TOKEN", "Refuse clients without this token.", envvar="SPARK_CONNECT_AUTHENTICATE_TOKEN"),
    ] = None,
    warehouse: _Warehouse = None,
    catalog_option: _CatalogOptions = None,
    conf: _ServerConf = None,
    master: _Master = None,
    metrics_port: _MetricsPort = None,
    traces: _Traces = False,
    log_level: _LogLevel = "info",
    log_format: _LogFormat = "logfmt",
) -> None:
    """Run ``paimon-sql connect-server``; its own arguments win over those before the subcommand."""
    from paimon_sql.shell.subcommands.servers import connect_server

    setup, given = _server_setup(context, warehouse, catalog_option, conf, master, "spark.connect.")
    watching = _Watching(host, metrics_port, traces, log_level, log_format)
    _serve(context, setup, lambda: connect_server(host, port, given, token=token), watching)


def _server_setup(
    context: typer.Context,
    warehouse: str | None,
    catalog_option: list[str] | None,
    conf: list[str] | None,
    master: str | None,
    prefix: str,
) -> tuple[Setup, dict[str, str]]:
    """The setup of a server's session, and the settings of that prefix, which are the server's own."""
    from paimon_sql.shell.setup import Setup

    before = context.parent.params if context.parent else {}
    given = _pairs([*(before.get("conf") or []), *(conf or [])])
    catalog = [*(before.get("catalog_option") or []), *(catalog_option or [])]
    settings = [f"{key}={value}" for key, value in given.items() if not key.startswith(prefix)]
    setup = Setup(
        warehouse=warehouse or before.get("warehouse"),
        conf=_settings_of_spark(settings, catalog, master or before.get("master")),
    )
    return setup, {key: value for key, value in given.items() if key.startswith(prefix)}


def _serve(
    context: typer.Context,
    setup: Setup,
    server: Callable[[], tuple[Callable[[SparkSession, Mapping[str, str]], Server], dict[str, str]]],
    watching: _Watching,
) -> NoReturn:
    """Serve until a signal, with a log, and with metrics and spans if they are asked for."""
    from paimon_sql.shell.subcommands.server_log import ServerLog
    from paimon_sql.shell.subcommands.servers import serve, with_metrics

    log = ServerLog(watching.log_level, watching.log_format)
    report = log.report(verbose=bool((context.parent.params if context.parent else {}).get("verbose")))

    def work() -> None:
        serve(setup, *server(), log, report, sends_traces=watching.traces)

    port = watching.metrics_port
    _exit(work if port is None else partial(with_metrics, work, watching.host, port, report), report.error)


@app.command("archive-classes", help="Let Spark start faster on this machine: archive the classes that it loads.")
def archive() -> None:
    """Run ``paimon-sql archive-classes``."""
    from paimon_sql.shell.subcommands.archive_classes import archive_classes

    report = new_report()
    _exit(partial(archive_classes, report), report.error)


@app.command("doctor", help="Check this machine, the catalog and its store, and say what to do.")
def doctor(
    context: typer.Context,
    warehouse: _Warehouse = None,
    catalog_option: _CatalogOptions = None,
    conf: Annotated[_Repeated, _pairs_option("-c --conf", "A setting of Spark")] = None,
    spark: Annotated[bool, _option("--spark/--no-spark", None, "Start Spark.")] = True,
    output: Annotated[str | None, _option(call_line.FORMAT, "NAME", "Output format.", callback=_check_format)] = None,
) -> None:
    """Run ``paimon-sql doctor``; its own arguments win over those before the subcommand."""
    from paimon_sql.shell.doctor.base import Place
    from paimon_sql.shell.subcommands.doctor import examine

    before = context.parent.params if context.parent else {}
    place = Place(
        warehouse or before.get("warehouse"),
        _pairs([*(before.get("catalog_option") or []), *(catalog_option or [])]),
        _pairs([*(before.get("conf") or []), *(conf or [])]),
        spark,
    )
    form = formats()[output or before.get("output") or "table"](standard_output(), header=before.get("header", True))
    _exit(partial(examine, place, form), new_report(before.get("verbose")).error)


_Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of statements, - for standard input.")]


@app.command("transpile", help="Translate statements to the syntax of Spark or Flink, without Spark.")
def transpile(
    files: _Files,
    to: Annotated[str, _option("--to", "NAME", f"Target dialect: {', '.join(_TARGETS)}.")] = "spark",
) -> None:
    """Run ``paimon-sql transpile``."""
    if to not in _TARGETS:
        raise typer.BadParameter(f"'{to}' is not one of {', '.join(_TARGETS)}.", param_hint="--to")
    _translate(files, to)


@app.command("format", help="Format statements, without Spark; comments are kept.")
def format_files(
    files: _Files,
    write: Annotated[bool, _option("--write", None, "Change the files instead of printing them.")] = False,
) -> None:
    """Run ``paimon-sql format``."""
    _translate(files, None, write=write)


def _translate(files: Sequence[str], target: str | None, *, write: bool = False) -> NoReturn:
    """Translate files to a dialect, or format them without one."""
    from paimon_sql.shell.subcommands.translation import Translation

    translation = Translation(new_report(), target)
    _exit(partial(translation.run, files, write=write), translation.fail)


def _explain(procedure: str | None) -> NoReturn:
    """Print the usage of a procedure, or the list of procedures."""

    def work() -> None:
        from paimon_sql.shell.subcommands.call import help_text

        typer.echo(help_text(procedure))

    _exit(work, new_report().error)


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
    line = CallLine(
        procedure,
        words,
        warehouse=warehouse or before.get("warehouse"),
        catalog={**_pairs(before.get("catalog_option") or []), **_pairs(catalog_option or [])},
        output=output or before.get("output") or "table",
        header=before.get("header", True),
        silent=silent or bool(before.get("silent")),
        verbose=bool(before.get("verbose")),
    )
    raise typer.Exit(run_call(line))


def _settings_of_spark(conf: list[str] | None, catalog: list[str] | None, master: str | None) -> dict[str, str]:
    settings = {f"spark.sql.catalog.paimon.{key}": value for key, value in _pairs(catalog or []).items()}
    if master:
        settings["spark.master"] = master
    return settings | _pairs(conf or [])


def _exit(work: Callable[[], None], fail: Callable[[Exception], None]) -> NoReturn:
    """Run work and exit with its status; an error is reported by ``fail``."""
    raise typer.Exit(exit_status(work, fail))
