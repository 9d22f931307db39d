"""Sessions of Spark Connect servers; they need no JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException, PySparkValueError
from pyspark.sql import SparkSession

from paimon_sql.catalog.registry import CATALOG_PREFIX, IMPLEMENTATION
from paimon_sql.discovery import is_installed
from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.session.prerequisites import check_pyspark
from paimon_sql.storage.execution.task_executor import Work, register_work

if TYPE_CHECKING:  # it needs libraries that may be missing
    from pyspark.sql.connect.shell.progress import StageInfo

_ATTEMPTS = 3
"""Attempts to reach a server; Spark's client tries for ten minutes."""


def connect_remote(url: str, settings: Mapping[str, str]) -> SparkSession:
    """Return a new session of a Spark Connect server that has Paimon catalogs.

    Args:
        url: its URL, such as ``sc://host:15002`` or ``sc://host:443/;token=…``.
        settings: Spark's settings by name, for the session.

    Raises:
        SetupError: a library is missing, Spark runs in this process, no server answers, or it has no Paimon catalog.
        InvalidInputError: the URL or a setting is wrong.
    """
    _check_process()
    for name in settings:
        if name.startswith(CATALOG_PREFIX):
            raise InvalidInputError(
                f"{name}: the catalogs of a session are those of its server.",
                remedy="Run CREATE CATALOG for another one.",
            )
    server = without_parameters(url)
    try:
        session = SparkSession.builder.remote(url).create()
    except PySparkValueError as error:
        raise InvalidInputError(f"'{server}' is not the URL of a Spark Connect server: {error}") from None
    _reach(session, server)
    for name, value in settings.items():
        session.conf.set(name, value)
    session.registerProgressHandler(_Operations())
    return session


def is_remote(session: object) -> bool:
    """Whether a session is one of a Spark Connect server, whose class is not PySpark's `SparkSession`."""
    return type(session).__module__ == "pyspark.sql.connect.session"


def is_session(value: object) -> bool:
    """Whether a value is a session, of this process or of a server."""
    return isinstance(value, SparkSession) or is_remote(value)


def without_parameters(url: str) -> str:
    """The URL of a server without its parameters, of which the token is one."""
    return url.partition("/;")[0].rstrip("/")


class _Operations:
    """The running operations of a session as registered work, which shells and notebooks show."""

    def __init__(self) -> None:
        self._works: dict[str | None, tuple[Work, ExitStack]] = {}

    def __call__(
        self, stages: Iterable[StageInfo] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """Count the tasks of an operation: PySpark calls this as it hears of them, and at the end."""
        if done:
            if operation_id in self._works:
                self._works.pop(operation_id)[1].close()
            return
        if operation_id not in self._works:
            until_done = ExitStack()
            self._works[operation_id] = until_done.enter_context(register_work("The server")), until_done
        work, _ = self._works[operation_id]
        known = list(stages or ())
        work.expect(sum(stage.num_tasks for stage in known) - work.total)
        work.advance(sum(stage.num_completed_tasks for stage in known) - work.done)


def _check_process() -> None:
    check_pyspark()
    if missing := [name for name in ("grpc", "grpc_status", "google.rpc") if not is_installed(name)]:
        raise SetupError(
            f"Spark Connect needs libraries that are not installed: {', '.join(missing)}.",
            remedy="pip install 'paimon-sql[connect]'",
        )
    if getattr(SparkSession, "_instantiatedSession", None) is not None:
        raise SetupError(
            "This process runs Spark itself: PySpark cannot use a server beside it.",
            remedy="Stop the session first, or connect in another process.",
        )


def _reach(session: SparkSession, server: str) -> None:
    """Ask the server for its catalogs.

    Raises:
        SetupError: it does not answer, refuses the token, or has no Paimon catalog.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    client = session.client
    before = client.get_retry_policies()
    client.set_retry_policies([DefaultPolicy(max_retries=_ATTEMPTS)])
    try:
        settings = session.conf.getAll
    except PySparkException as error:
        session.stop()
        raise SetupError(
            f"The Spark Connect server at {server} cannot be used: {_reason(error)}.",
            remedy="Check the URL, the token, and that the server runs: paimon-sql connect-server.",
        ) from None
    finally:
        client.set_retry_policies(before)
    if IMPLEMENTATION not in settings.values():
        session.stop()
        raise SetupError(
            f"The Spark Connect server at {server} has no Paimon catalog.",
            remedy="Start it by paimon-sql connect-server.",
        )


def _reason(error: PySparkException) -> str:
    """The first line of an error's message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".")
