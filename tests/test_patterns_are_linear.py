"""Every pattern over text of users, files and servers takes time in proportion to the text, however it is made."""

from __future__ import annotations

import ast
import gc
import importlib
import os
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path

import pytest
from sqlglot.errors import TokenError

import paimon_sql
from paimon_sql.format.options import PATTERNS
from paimon_sql.format.options.table.data_file import FILE_COMPRESSION_PER_LEVEL
from paimon_sql.procedures.values import name_filter
from paimon_sql.spark.thrift.listing import NamePattern
from paimon_sql.sql.paimon import Paimon
from paimon_sql.storage.maintenance.orphans.candidates import CandidateFilter, FolderKind
from tests.adversarial_text import attacks
from tests.environments import IMPORTED_THERE

ROOT = Path(paimon_sql.__file__).parent
SMALL, LARGE = 16_000, 1_000_000
SOON = 0.25
"""Seconds of the processor for a small text: a hundred times what is usual, and a fraction of the square."""
IN_TIME = 4.0
"""Seconds for a large one: the square of a million takes the better part of an hour."""
METHODS = ("match", "fullmatch", "search", "sub", "finditer", "split", "findall")


class LateError(Exception):
    """A pattern has taken too long."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Break off what takes longer, exponential patterns included: the engine looks for signals as it goes.

    The garbage collector rests: what it has to look through was left by other tests.
    """

    def ring(*_: object) -> None:
        raise LateError

    gc.disable()
    former = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
        gc.enable()


@cache
def uses() -> dict[str, set[str]]:
    """The methods that are called on a name, by the name: ``_SECRETS.sub`` is ``{"_SECRETS": {"sub"}}``."""
    found: dict[str, set[str]] = {}
    folders = (Path(folder) for folder, _, _ in os.walk(ROOT, followlinks=True))
    for path in (path for folder in folders for path in folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS:
                found.setdefault(f"{path}:{node.value.id}", set()).add(node.attr)
    return found


def patterns(room: str) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """The patterns of a package with the methods that they are used with, each with a name."""
    for module in pkgutil.walk_packages([str(ROOT / room)], f"paimon_sql.{room}."):
        if module.name.endswith("__main__") or module.name in IMPORTED_THERE:
            continue  # a program, or one of others
        loaded = importlib.import_module(module.name)
        for name, value in vars(loaded).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                for method in sorted(uses().get(f"{loaded.__file__}:{name}", {"fullmatch"})):
                    yield f"{module.name}.{name}.{method}", value, method


def call(pattern: re.Pattern[str], method: str, text: str) -> None:
    if method == "sub":
        pattern.sub("", text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


def slow_text(function: Callable[[str], object], texts: Callable[[int], Iterator[str]]) -> str | None:
    """A text that takes too long; None where small ones are through soon, and the worst of them in time if large."""
    times = []
    for number, text in enumerate(texts(SMALL)):
        started = time.perf_counter()
        try:
            with within(SOON):
                function(text)
        except LateError:
            return f"{text[:50]!r} … {text[-20:]!r}"
        times.append((time.perf_counter() - started, number))
    worst = max(times)[1]
    large = next(text for number, text in enumerate(texts(LARGE)) if number == worst)
    try:
        with within(IN_TIME):
            function(large)
    except LateError:
        return f"{large[:50]!r} … {large[-20:]!r}, {len(large)} characters"
    return None


ROOMS = sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("room", ROOMS)
def test_patterns_take_time_in_proportion_to_the_text(room: str) -> None:
    found = {
        name: slow
        for name, pattern, method in patterns(room)
        if (slow := slow_text(partial(call, pattern, method), partial(attacks, pattern))) is not None
    }
    assert found == {}


def test_keys_of_options_with_names_in_them_are_found_in_linear_time() -> None:
    for option in PATTERNS:
        if option.pattern is not None:
            assert slow_text(option.pattern.fullmatch, partial(attacks, option.pattern)) is None, option.key


def test_names_of_files_are_recognised_in_linear_time() -> None:
    pattern = CandidateFilter(("changelog-", "data-"), 0).pattern(FolderKind.DATA)
    assert pattern is not None
    assert slow_text(pattern.fullmatch, partial(attacks, pattern)) is None


def like_attacks(size: int) -> Iterator[str]:
    yield from ("a" * size, "ab" * (size // 2), "a" * size + "b", "ab" * (size // 2) + "c")


@pytest.mark.parametrize("like", ["%a%a%a%a%a%a%a%a%c%", "%" * 200 + "c", "a%_a%_a%_a%_a%_a%c", "%ab%ab%ab%ab%b_c"])
def test_a_like_with_many_wildcards_takes_linear_time(like: str) -> None:
    assert slow_text(NamePattern(like).matches, like_attacks) is None


@pytest.mark.parametrize(
    "pump",
    ["$a$", "$", "$$ ", "/*+ ", "/*", "*/", "-- ", "r'", "1e1", "1.", "''", "\\'", "``", "${a}", "{counter}"],
)
def test_a_statement_is_cut_into_tokens_in_linear_time(pump: str) -> None:
    def texts(size: int) -> Iterator[str]:
        if pump == "{counter}":  # as many different signs as there are, none of which is closed
            letters = "abcdefghijklmnopqrstuvwxyz"
            yield "".join(f"${a}{b}{c}" for a in letters for b in letters for c in letters)[:size] + "$"
        for opening in ("", "'", "/*+ "):
            yield opening + pump * (size // len(pump))

    def cut(text: str) -> None:
        with suppress(TokenError):
            Paimon().tokenize(text)

    assert slow_text(cut, texts) is None


def test_pairs_of_an_option_are_cut_in_linear_time() -> None:
    def texts(size: int) -> Iterator[str]:
        yield from ("," * size, "a:b," * (size // 4), "'," * (size // 2), '"' + "'," * (size // 2))

    def pairs(text: str) -> None:
        with suppress(ValueError):
            FILE_COMPRESSION_PER_LEVEL.parse(text)

    assert slow_text(pairs, texts) is None


@pytest.mark.parametrize("expression", ["(a+)+", "(a|a)*", "(.*a){12}", "a*a*a*a*a*b", "((a*)*)*c"])
def test_an_expression_for_names_takes_linear_time_whatever_it_is(expression: str) -> None:
    assert slow_text(name_filter(expression, "including_tables", ".*"), like_attacks) is None
