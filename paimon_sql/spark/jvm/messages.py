"""Messages of Java exceptions for people: without stack traces and plans, of the cause that says what is wrong."""

from __future__ import annotations

import re

from paimon_sql.spark.java.objects import Throwable
from paimon_sql.spark.jvm.errors import causes, paimon_error_in, spark_message_instead

CLASS_NAME = re.compile(r"^(?:[a-z][\w$]*\.)+[\w$]*(?:Exception|Error)(?:: |$)")
"""The class of an exception at the start of a message that repeats that of its cause."""
TRACEBACK = "Traceback (most recent call last):"
CODE = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
"""The code of an error of Spark in its message."""
_VAGUE = ("Job aborted", "Exception thrown in awaitResult", "Writing job", "Task failed while writing")
_VAGUE_CODES = frozenset({"FAILED_TO_LOAD_ROUTINE", "TASK_WRITE_FAILED", "CANNOT_LOAD_CATALOG"})
_RAISED = "[USER_RAISED_EXCEPTION] "


def is_vague(message: str) -> bool:
    """Whether a message, without a class, says no more than that something else failed."""
    code = CODE.search(message)
    return not message or message.startswith(_VAGUE) or (code is not None and code[1] in _VAGUE_CODES)


def last_python_error(text: str) -> str:
    """The last error of a Python worker's traceback, without its class if it is a `PaimonError`."""
    lines = re.sub(r"SQLSTATE: \w{5}$", "", text.rstrip()).splitlines()
    last_frame = max(i for i, line in enumerate(lines) if line.startswith(("  ", "Traceback")))
    raised = "\n".join(lines[last_frame + 1 :]).strip()
    return raised.partition(": ")[2] if raised.startswith("paimon_sql.errors.") else raised


def message_of(thrown: Throwable) -> str:
    """The message of a Java exception: that of the error of ours behind it, or of the first cause that is not vague.

    Spark's messages keep their code, their state and the marked place in the statement. Clients ask for codes: an
    exception of Spark's that was thrown instead of an error of ours goes before it.
    """
    if (instead := spark_message_instead(thrown)) is not None:
        return instead
    if (ours := paimon_error_in(thrown)) is not None:
        return str(ours)
    chain = list(causes(thrown))
    messages = [CLASS_NAME.sub("", str(link.getMessage() or "").strip()) for link in chain]
    text = next((m for m in messages if not is_vague(m)), messages[-1])
    if TRACEBACK in text:
        return last_python_error(text)
    # The plan follows the message of an analysis error.
    return text.split(";\n", 1)[0].removeprefix(_RAISED) or str(chain[-1].getClass().getSimpleName())
