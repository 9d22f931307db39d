"""Descriptions of errors of any origin: the user's message, its position in the statement, and details."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException, convert_exception

from paimon_sql.errors import PaimonError
from paimon_sql.shell.engine.problem import Missing, Problem, Span, problem_of, stack
from paimon_sql.shell.pieces import Token, tokens_of, unquote_name
from paimon_sql.spark.jvm.messages import CLASS_NAME, CODE, TRACEBACK, is_vague, last_python_error
from paimon_sql.sql.errors import SqlSyntaxError


def describe(error: BaseException, statement: str = "") -> Problem:
    """Describe the error of a statement."""
    if isinstance(error, SqlSyntaxError) and error.text == statement:
        return Problem(error.problem, error.remedy, span=(error.start, error.end), details=stack(error))
    if isinstance(error, PaimonError):
        return problem_of(error)
    if isinstance(error, Py4JJavaError):
        return _of_spark(convert_exception(error.java_exception), statement, details=str(error))
    if isinstance(error, CapturedException):
        return _of_spark(error, statement, details=f"{_message(error)}\n\n{error._stackTrace}".strip())
    if isinstance(error, PySparkException):
        return _of_server(error, statement)
    if isinstance(error, (Py4JNetworkError, ConnectionError)):
        return Problem("The JVM that runs Spark has ended.", "Restart the shell.", details=stack(error))
    message = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return Problem(message, details=stack(error))


_STATE = re.compile(r"SQLSTATE:\s*(\w{5})")
_LINE_AND_POS = re.compile(r"\(?line (\d+),? pos (\d+)\)?")
_OUR_POSITION = re.compile(r" ?\(line (\d+), column (\d+)\)")
_OF_SERVER = re.compile(r"^\([\w.$]+\) ")
"""The class that Spark Connect's client puts before the message of an exception that it has no class for."""
_OF_OUR_WORKER = re.compile(r"An exception was thrown from the Python worker: paimon_sql\.errors\.\w+: ")
_ADVICE = ("Search path: ", "If you did not qualify", "To tolerate the error on drop", "If the schema is inferred from")
_NAMING = tuple(
    f"{kind}Name" for kind in ("object", "relation", "argument", "field", "column", "routine", "schema", "table")
)
_FILE = re.compile(r"reading file (\S+)\.(?!\S)")
_UNREADABLE = "FAILED_READ_FILE"
_MISSING: dict[str, Literal["table", "database"]] = {
    "TABLE_OR_VIEW_NOT_FOUND": "table",
    "SCHEMA_NOT_FOUND": "database",
}


class _Coded(NamedTuple):
    """A message of Spark with a code: ``[CODE] message SQLSTATE: state``."""

    code: str
    message: str
    state: str


def _coded(text: str) -> _Coded | None:
    code = CODE.search(text)
    state = _STATE.search(text, code.end()) if code else None
    return _Coded(code[1], text[code.end() : state.start()].strip(), state[1]) if code and state else None


def _of_spark(error: PySparkException, statement: str, details: str) -> Problem:
    outer, error = error, _informative(error)
    text = _message(error)
    if TRACEBACK in text:
        return Problem(last_python_error(text), details=details)
    coded = _coded(text)
    if coded and coded.code.startswith(_UNREADABLE):
        return _of_file(error, coded, details)
    message = coded.message if coded else CLASS_NAME.sub("", text).partition("\n\n")[0]
    message = "\n".join(line.rstrip() for line in message.splitlines() if not line.startswith(_ADVICE)).strip()
    if from_worker := _OF_OUR_WORKER.match(message):
        return Problem(message[from_worker.end() :], details=details)
    position = _LINE_AND_POS.search(text)
    hint = offset_of(statement, int(position[1]), int(position[2])) if position else None
    if own := _OUR_POSITION.search(message):
        hint, message = offset_of(statement, int(own[1]), int(own[2]) - 1), _OUR_POSITION.sub("", message)
    parameters = error.getMessageParameters() or outer.getMessageParameters() or {}
    names = [parameters[key] for key in _NAMING if key in parameters]
    span = _context(error, statement) or (None if hint is None else (hint, hint + 1))
    return Problem(
        message or type(error).__name__,
        code=f"{coded.code}, SQLSTATE {coded.state}" if coded else None,
        span=locate(statement, hint=span, names=names, near=_near(parameters)),
        details=details,
        missing=Missing(_MISSING[coded.code], names[0]) if coded and coded.code in _MISSING and names else None,
    )


def _of_server(error: PySparkException, statement: str) -> Problem:
    """Describe an error of a Spark Connect server, which has no causes, or of PySpark itself."""
    details = "\n\n".join(filter(None, (_message(error), getattr(error, "getStackTrace", str)())))
    return _of_spark(error, statement, details)


def _of_file(error: PySparkException, coded: _Coded, details: str) -> Problem:
    """Describe a file that Spark's reader could not read, with the reason, which Spark's message omits."""
    named = _FILE.search(coded.message)
    path = re.sub(r"^file:/+", "/", named[1]) if named else "a file"
    *_, last = _chain(error)
    reason = CLASS_NAME.sub("", _message(last)).splitlines()[0].rstrip(".")
    missing = coded.code.endswith("FILE_NOT_EXIST")
    return Problem(
        f"Cannot read {path}: {'it does not exist' if missing else reason}.",
        "Another process may have expired or deleted it: run the query again."
        if missing
        else "Restore the file from a copy, or read a snapshot from before it was written.",
        code=f"{coded.code}, SQLSTATE {coded.state}",
        details=details,
    )


def _message(error: PySparkException) -> str:
    if isinstance(error, CapturedException):
        return str(error._desc).strip()
    return _OF_SERVER.sub("", str(error.getMessage())).strip()


def _chain(error: PySparkException | None) -> Iterator[PySparkException]:
    while error is not None:
        yield error
        error = getattr(error, "_cause", None)


def _informative(error: PySparkException) -> PySparkException:
    """The first error of the chain whose message names a cause, and not only that a nested error occurred."""
    chain = list(_chain(error))
    for candidate in chain:
        text = CLASS_NAME.sub("", _message(candidate))
        if not is_vague(text):
            return candidate
    return chain[-1] if len(chain) > 1 and _message(chain[-1]) else error


def _context(error: PySparkException, statement: str) -> Span | None:
    for context in error.getQueryContext():
        if context.contextType().name != "SQL" or context.objectType():
            continue  # a position in the text of a view
        start, end = int(context.startIndex()), int(context.stopIndex()) + 1
        if 0 <= start < end <= len(statement):
            return start, end
    return None


def _near(parameters: Mapping[str, str]) -> str | None:
    near = parameters.get("error")
    if near is None or "hint" not in parameters:
        return None
    return near[1:-1] if len(near) > 2 and near[0] == near[-1] == "'" else near


_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def locate(statement: str, *, hint: Span | None, names: Sequence[str] = (), near: str | None = None) -> Span | None:
    """Find the part of a statement with an error; None if that is not certain.

    The hint can be wrong: the dialect rewrites statements, and Spark then counts in the rewritten text. So the error's
    names must occur in the statement, too.

    Args:
        statement: the statement.
        hint: the reported position; one character or more.
        names: the names in the error, as Spark writes them: ```a`.`b```; the first one found is used.
        near: the text at which a parser stopped.
    """
    tokens, _ = tokens_of(statement)
    if near is not None:
        return _text_near(statement, tokens, hint, near)
    for name in names:
        found = _occurrences(tokens, [part[0] or part[1] for part in _NAME_PART.findall(name)])
        inside = [span for span in found if hint is None or (hint[0] <= span[0] and span[1] <= hint[1])]
        if len(inside) == 1 or (inside and hint is not None):
            return inside[0]
        starting = [span for span in found if hint is not None and span[0] <= hint[0] < span[1]]
        if starting or len(found) == 1:
            return (starting or found)[0]
    if names or hint is None or hint[0] >= len(statement):
        return None
    return hint if hint[1] - hint[0] > 1 else _token_at(tokens, hint[0])


def offset_of(text: str, line: int, column: int) -> int:
    """The offset of a line, counted from 1, and a column, counted from 0."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    return min(start + column, len(text))


def _text_near(statement: str, tokens: Sequence[Token], hint: Span | None, near: str) -> Span | None:
    if near == "end of input":
        return (len(statement), len(statement) + 1)
    if hint is not None and statement[hint[0] :].lower().startswith(near.lower()):
        return hint[0], hint[0] + len(near)
    found = [token for token in tokens if token.text.lower() == near.lower()]
    return (found[0].start, found[0].end) if len(found) == 1 else None


def _occurrences(tokens: Sequence[Token], parts: Sequence[str]) -> list[Span]:
    """The occurrences of a name, to which Spark may have prepended catalog and database."""
    lowered = [part.replace("``", "`").lower() for part in parts]
    for first in range(len(lowered)):
        found = [span for i in range(len(tokens)) if (span := _name_at(tokens, i, lowered[first:]))]
        if found:
            return found
    return []


def _name_at(tokens: Sequence[Token], i: int, parts: Sequence[str]) -> Span | None:
    run = tokens[i : i + 2 * len(parts) - 1]
    names = [unquote_name(token).lower() for token in run[::2]]
    is_name = names == list(parts) and all(token.word == "." for token in run[1::2])
    return (run[0].start, run[-1].end) if is_name else None


def _token_at(tokens: Sequence[Token], offset: int) -> Span:
    return next(((t.start, t.end) for t in tokens if t.start <= offset < t.end), (offset, offset + 1))
