"""The command line of a call: what is read without the complete parser is read as that reads it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from paimon_sql.shell import app as app_module
from paimon_sql.shell.subcommands.call_line import CallLine, plain_call

PLAIN = (
    "compact --table t",
    "compact --table=t -w W -S",
    "-w W --table t compact",
    "compact --warehouse W --warehouse=V --format csv --silent",
    "compact --warehouse= --catalog-option a=b --catalog_conf c=d=e --catalog-option=a=f",
    "compact --retain_max -1 - --x=-w ''",
    "compact -w --table",
)
NOT_PLAIN = (
    "",
    "-w W",
    "--help",
    "compact -h",
    "compact --format xml",
    "compact --catalog-option a",
    "compact --silent=true",
    "compact -w",
    "compact --format",
    "compact -wW",
    "compact -Sw W",
    "compact -x",
    "compact -- -w W",
)
WORDS = sorted({word for line in (*PLAIN, *NOT_PLAIN) for word in line.split()} | {"", "-1w", "-é", "-h\n", "x=y"})


def completely_read(words: Sequence[str]) -> CallLine | None:
    """The call as the complete parser reads it; None if it refuses or explains it."""
    lines: list[CallLine] = []

    def run_call(line: CallLine) -> int:
        lines.append(line)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_module, "run_call", run_call)
        patch.setattr(app_module, "_explain", lambda _: None)
        CliRunner().invoke(app_module.app, ["call", *words])
    return lines[0] if lines else None


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_call_is_read(line: str) -> None:
    words = [word.strip("'") for word in line.split()]
    found = plain_call(["call", *words])
    assert found is not None
    assert found == completely_read(words)


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_other_calls_are_left_to_the_complete_parser(line: str) -> None:
    assert plain_call(["call", *line.split()]) is None


@pytest.mark.parametrize("line", ["", "--version", "-w W call compact", "report t"])
def test_other_commands_are_left_to_the_complete_parser(line: str) -> None:
    assert plain_call(line.split()) is None


@given(st.lists(st.sampled_from(WORDS), max_size=6))
@settings(max_examples=50, deadline=None)
def test_no_call_is_read_in_another_way(words: list[str]) -> None:
    found = plain_call(["call", *words])
    assert found is None or found == completely_read(words)
