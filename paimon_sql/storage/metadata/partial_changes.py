"""Changes of a table's history in several steps: an error after the first one is no refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_sql.errors import AlreadyExistsError, CommitUnknownError, PaimonError
from paimon_sql.storage.file_io import FileIO


@contextmanager
def begun(what: str) -> Iterator[None]:
    """Say of an error inside that something was begun, and how to end it.

    Args:
        what: the table and what is done to it.

    Raises:
        CommitUnknownError: instead of all other errors.
    """
    try:
        yield
    except (PaimonError, OSError) as error:
        if isinstance(error, CommitUnknownError):
            raise
        why, remedy = (error.message, error.remedy) if isinstance(error, PaimonError) else (str(error), None)
        raise CommitUnknownError(
            f"{what} was begun and did not come to its end: {why}",
            commit_user="",
            commit_identifier=0,
            remedy=remedy or "Run it again.",
        ) from error


@contextmanager
def asked_for(what: str, file_io: FileIO, path: str) -> Iterator[None]:
    """Say of an error inside that what was asked for may still come, where a store may carry a request out later.

    Args:
        what: what is made.
        file_io: the file system.
        path: where it is made.

    Raises:
        AlreadyExistsError: there is such a thing; nothing comes.
        CommitUnknownError: instead of other errors, where answers are not final.
    """
    try:
        yield
    except AlreadyExistsError:
        raise
    except (PaimonError, OSError):
        if file_io.answers_are_final(path):
            raise
        with begun(what):
            raise
