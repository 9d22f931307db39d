"""Tasks that write files which nobody sees yet: the files of all of them are kept, or of none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.table import Table

R = TypeVar("R")


def all_or_nothing(table: Table, answers: Iterable[R], written: Callable[[R], Iterable[CommitMessage]]) -> list[R]:
    """What all tasks answer; if one fails or the run is interrupted, nothing is left of the others.

    Args:
        table: the table that they write to.
        answers: the answers; those that come before an error are of tasks that are done.
        written: what a task wrote, by its answer.
    """
    done: list[R] = []
    try:
        done.extend(answers)  # which keeps what comes before an error
    except BaseException:
        Committer(table, fresh=True).discard([message for answer in done for message in written(answer)])
        raise
    return done


@contextmanager
def discarding(table: Table, messages: Sequence[CommitMessage]) -> Iterator[None]:
    """Let nothing be left of what was written before if what comes next fails."""
    try:
        yield
    except BaseException:
        Committer(table, fresh=True).discard(messages)
        raise
