"""Errors of the package as data: whichever way one goes, its class and what it holds go with it."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from pyspark import cloudpickle

import paimon_sql
from paimon_sql.errors import CommitUnknownError, CorruptFileError, MissingFileError, PaimonError
from paimon_sql.sql.errors import SqlSyntaxError
from tests.environments import IMPORTED_THERE

VALUES = {"str": "some text", "str | None": "What to do.", "int": 7}


def classes() -> list[type[PaimonError]]:
    """Every class of error that a module of the package defines."""
    for module in pkgutil.walk_packages(paimon_sql.__path__, "paimon_sql."):
        if not module.name.endswith("__main__") and module.name not in IMPORTED_THERE:
            importlib.import_module(module.name)

    def below(kind: type[PaimonError]) -> Iterator[type[PaimonError]]:
        yield kind
        for child in kind.__subclasses__():
            yield from below(child)

    found = {kind for kind in below(PaimonError) if kind.__module__.startswith("paimon_sql.")}
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


def example(kind: type[PaimonError]) -> PaimonError:
    """An error of that class, all of whose data are set."""
    given = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        given[name] = VALUES[str(parameter.annotation)]
    bound = inspect.signature(kind).bind_partial()
    bound.arguments.update(given)
    return kind(*bound.args, **bound.kwargs)


def same(one: BaseException, other: BaseException) -> bool:
    return (type(one), str(one), one.args, vars(one)) == (type(other), str(other), other.args, vars(other))


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_an_error_can_be_pickled_and_copied_with_all_its_data(kind: type[PaimonError]) -> None:
    error = example(kind)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert same(pickle.loads(pickle.dumps(error, protocol)), error)
    assert same(cloudpickle.loads(cloudpickle.dumps(error)), error)
    assert same(copy.copy(error), error)
    assert same(copy.deepcopy(error), error)


def test_the_walk_finds_errors_of_all_rooms() -> None:
    names = {kind.__name__ for kind in classes()}
    assert {"CommitUnknownError", "SqlSyntaxError", "NameExistsError", "NotFoundAnswerError"} <= names


def test_what_was_pickled_twice_says_no_more_than_before() -> None:
    error: PaimonError = CorruptFileError("no magic number", path="f.parquet")
    for _ in range(2):
        error = pickle.loads(pickle.dumps(error))
    assert str(error).count("f.parquet") == 1


def test_the_traceback_stays_behind_and_a_note_goes_along() -> None:
    try:
        raise CommitUnknownError("The answer was lost.", commit_user="me", commit_identifier=3) from OSError("reset")
    except CommitUnknownError as raised:
        raised.add_note("attempt 2")
        found = pickle.loads(pickle.dumps(raised))
    assert found.__traceback__ is None and found.__cause__ is None
    assert found.__notes__ == ["attempt 2"]


def test_a_place_in_a_statement_goes_along() -> None:
    error = SqlSyntaxError("Here.", text="SELECT\n  x y", start=9, end=10, remedy="Write it.")
    found = pickle.loads(pickle.dumps(error))
    assert found.highlight() == error.highlight()
    assert (found.line, found.column) == (2, 3)


def test_an_error_of_another_process_is_caught_by_its_class() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(MissingFileError) as missing:
            pool.submit(lose_a_file).result()
        assert missing.value.path == "data-1.parquet"
        with pytest.raises(CommitUnknownError) as unknown:
            pool.submit(lose_an_answer).result()
        assert (unknown.value.commit_user, unknown.value.commit_identifier) == ("me", 3)


def lose_a_file() -> None:
    raise MissingFileError("It is gone.", path="data-1.parquet")


def lose_an_answer() -> None:
    raise CommitUnknownError("The answer was lost.", commit_user="me", commit_identifier=3)
