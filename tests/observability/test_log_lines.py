"""Lines of a server's log: each is read back as what was logged, whatever it holds."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql.observability.log_lines import FORMATS, start_log

LOG = logging.getLogger("paimon_sql.tests")
HOSTILE = 'a "b" = \\ c\n\x1b[31m\x85\u2028d ä 😀'
PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)(?: |$)')


def logfmt(line: str) -> dict[str, object]:
    """The pairs of a line, which is nothing else."""
    assert PAIR.sub("", line) == ""
    return {name: json.loads(text) if text.startswith('"') else text for name, text in PAIR.findall(line)}


READERS: dict[str, Callable[[str], dict[str, object]]] = {"logfmt": logfmt, "json": json.loads}


@pytest.fixture(params=FORMATS)
def lines(request: pytest.FixtureRequest) -> Iterator[list[dict[str, object]]]:
    """What was logged in the test, read from its lines when the test looks."""

    class Lines(io.StringIO):
        def __iter__(self) -> Iterator[dict[str, object]]:  # type: ignore[override]
            return (READERS[request.param](line) for line in self.getvalue().split("\n")[:-1])

    stream = Lines()
    end = start_log("info", request.param, stream)
    yield stream  # type: ignore[misc]
    end()


def test_any_value_is_one_line_that_is_read_back(lines: list[dict[str, object]]) -> None:
    LOG.info("not shown", extra={"fields": {"text": HOSTILE, "empty": "", "number": 3, "missing": None}})
    (found,) = lines
    assert found["text"] == HOSTILE and found["empty"] == "" and str(found["number"]) == "3"
    assert found["logger"] == "paimon_sql.tests" and found["level"] == "info"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(found["time"]))
    assert "missing" not in found and "message" not in found


def test_other_records_are_their_message_and_stack(lines: list[dict[str, object]]) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        LOG.exception("It failed: %s", HOSTILE)
    LOG.debug("not shown")
    (found,) = lines
    assert found["message"] == f"It failed: {HOSTILE}" and found["level"] == "error"
    assert str(found["stack"]).startswith("Traceback") and HOSTILE in str(found["stack"])


def test_commits_are_lines_with_their_numbers(lines: list[dict[str, object]], tmp_path: Path) -> None:
    catalog = paimon_sql.open_catalog(tmp_path)
    catalog.create_database("d")
    catalog.create_table("d.t", pa.schema([("id", pa.int64())])).append([{"id": 1}, {"id": 2}])
    (found,) = (line for line in lines if line["logger"] == "paimon_sql.commits")
    assert {name: str(found[name]) for name in ("table", "snapshot", "kind", "records", "files_added", "attempts")} == {
        "table": "paimon.d.t", "snapshot": "1", "kind": "APPEND", "records": "2", "files_added": "1", "attempts": "1",
    }  # fmt: skip


def test_nothing_is_logged_once_it_has_ended() -> None:
    stream, logger = io.StringIO(), logging.getLogger("paimon_sql")
    before = logger.level, logger.propagate, list(logger.handlers)
    start_log("debug", "json", stream)()
    LOG.warning("not shown")
    assert stream.getvalue() == "" and (logger.level, logger.propagate, logger.handlers) == before
