"""Log of the statements that clients of a server run: one line each, whatever the server's protocol.

The logger ``paimon_sql.statements`` logs the end of each statement: at level INFO, or WARNING if it failed, with the
stack at DEBUG. Records have their values as ``fields``, which the formatters of `paimon_sql.observability.log_lines`
write. A server reports when a statement begins and how it ends; everything else is done here, also for listeners, which
get what is logged of all servers of the process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from paimon_sql.process import share
from paimon_sql.sql.text.secrets import without_any_secrets

LOG = logging.getLogger("paimon_sql.statements")
_MAX_SQL = 2000
_MAX_ERROR = 1000


class StatementListener(Protocol):
    """What gets the statements of all servers of the process, in the threads that report them."""

    def started(self, statement_id: str) -> None:
        """A statement begins."""

    def ended(self, statement_id: str, fields: Mapping[str, str | int | None]) -> None:
        """A statement has ended; the fields are those of the log."""


statement_listeners = share(list[StatementListener])
"""The listeners of this process."""


@dataclass(frozen=True)
class Statement:
    """A statement of a client.

    Attributes:
        text: its SQL, or another description.
        session: the id of its connection or session.
        user: the user's name.
        client: the address of the client; None if it is unknown.
    """

    text: str
    session: str
    user: str
    client: str | None = None


class StatementLog:
    """The running statements of a server, each logged once, at its first end.

    Thread-safe. Statements have ids of the server's choice; ends of unknown ones are ignored.

    Args:
        protocol: the name of the server's protocol in the log, such as ``thrift``.
    """

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._running: dict[str, tuple[Statement, float]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of statements that run."""
        return len(self._running)

    def started(self, statement_id: str, statement: Statement) -> None:
        """A statement begins."""
        with self._lock:
            self._running[statement_id] = statement, time.monotonic()
        for listener in list(statement_listeners()):
            listener.started(statement_id)

    def finished(self, statement_id: str, rows: int | None = None) -> None:
        """A statement has succeeded.

        Args:
            statement_id: its id.
            rows: the number of rows of its result; None if it is unknown.
        """
        self._log(statement_id, logging.INFO, "finished", rows=rows)

    def failed(self, statement_id: str, message: str, stack: str = "") -> None:
        """A statement has failed.

        Args:
            statement_id: its id.
            message: the error.
            stack: the stack traces, for the level DEBUG.
        """
        # What follows repeats the statement.
        error = without_any_secrets(_one_line(message.partition("\n== SQL")[0], _MAX_ERROR))
        self._log(statement_id, logging.WARNING, "failed", error=error)
        if stack:
            LOG.debug(without_any_secrets(stack), extra={"fields": {"statement": statement_id}})

    def canceled(self, statement_id: str, reason: str = "canceled") -> None:
        """A statement was ended by its client or the server, which may be all that happens at each closing."""
        self._log(statement_id, logging.INFO, reason)

    def _log(self, statement_id: str, level: int, state: str, **outcome: str | int | None) -> None:
        with self._lock:
            statement, began = self._running.pop(statement_id, (None, 0.0))
        listeners = list(statement_listeners())
        if statement is None or not (listeners or LOG.isEnabledFor(level)):
            return
        millis = round((time.monotonic() - began) * 1000)
        sql = without_any_secrets(_one_line(statement.text, _MAX_SQL))
        fields: dict[str, str | int | None] = {
            "server": self._protocol,
            "session": statement.session,
            "user": statement.user,
            "client": statement.client,
            "statement": statement_id,
            "state": state,
            "duration_ms": millis,
            **outcome,
            "sql": sql,
        }
        plain = f"{statement.user} of {statement.session}: {state} in {millis} ms: {sql}"
        LOG.log(level, "%s", plain, extra={"fields": fields})
        for listener in listeners:
            listener.ended(statement_id, fields)


def _one_line(text: str, most: int) -> str:
    """A text with its whitespace collapsed, of bounded length."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[:most]}…"
