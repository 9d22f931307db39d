"""Log of a server on standard error, a line per record, in logfmt or JSON.

A record is its time, level and logger, and its ``fields``, a mapping of names to values, as statements and commits
have; other records have their ``message``, and their stack trace, if they have one, as ``stack``.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import ClassVar, TextIO

_LOGGER = logging.getLogger("paimon_sql")
_PLAIN = re.compile(r"""[^\s"=\\\x00-\x1f\x7f-\x9f\u2028\u2029]+""")
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029]")
LEVELS = ("debug", "info", "warning", "error")
"""The names of levels, from the one with most lines."""


class LineFormatter(logging.Formatter):
    """Writes a record as one line; values that are None are left out.

    Attributes:
        name: the name of the format.
    """

    name: ClassVar[str]

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: Mapping[str, object] | None = getattr(record, "fields", None)
        at = datetime.fromtimestamp(record.created, timezone.utc)
        values: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"message": record.getMessage()} if fields is None else fields),
        }
        if record.exc_info:
            values["stack"] = self.formatException(record.exc_info)
        return self.line({name: value for name, value in values.items() if value is not None})

    @abstractmethod
    def line(self, values: Mapping[str, object]) -> str:
        """Write values as one line."""


class LogfmtFormatter(LineFormatter):
    """``name=value`` with blanks between; values with other than visible characters, and texts, are JSON strings."""

    name = "logfmt"

    def line(self, values: Mapping[str, object]) -> str:
        """Write values as one line."""
        return " ".join(f"{name}={_value(str(value))}" for name, value in values.items())


class JsonFormatter(LineFormatter):
    """A JSON object."""

    name = "json"

    def line(self, values: Mapping[str, object]) -> str:
        """Write values as one line."""
        return _escaped(json.dumps(values, ensure_ascii=False, default=str))


FORMATS: Mapping[str, type[LineFormatter]] = {kind.name: kind for kind in (LogfmtFormatter, JsonFormatter)}
"""The formats by name."""


def start_log(level: str = "info", form: str = "logfmt", stream: TextIO | None = None) -> Callable[[], None]:
    """Write the records of our loggers to a stream from now on; return a function that ends this.

    Args:
        level: one of `LEVELS`.
        form: one of `FORMATS`.
        stream: the stream; standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATS[form]())
    before = _LOGGER.level, _LOGGER.propagate
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(level.upper())
    _LOGGER.propagate = False

    def end() -> None:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(before[0])
        _LOGGER.propagate = before[1]

    return end


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(line: str) -> str:
    """Escape the characters of a JSON text that terminals obey or some readers end a line at."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
