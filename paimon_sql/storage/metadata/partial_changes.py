"""Multi-step changes of a table's history: an error after the first step means an unknown outcome."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_sql.errors import AlreadyExistsError, CommitUnknownError, PaimonError
from paimon_sql.storage.file_io import FileIO


@contextmanager
def begun(what: str) -> Iterator[None]:
    """Turn errors inside into `CommitUnknownError`: the change was started, and may be completed by another run.

    Args:
        what: the table and the change.

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
            f"{what} was started but not completed: {why}",
            commit_user="",
            commit_identifier=0,
            remedy=remedy or "Run it again.",
        ) from error


@contextmanager
def unknown_unless_final(what: str, file_io: FileIO, path: str) -> Iterator[None]:
    """Turn errors inside into `CommitUnknownError` if the store may still execute the request.

    Args:
        what: description of the change.
        file_io: the file system.
        path: the path of the change.

    Raises:
        AlreadyExistsError: the target exists; nothing was changed.
        CommitUnknownError: instead of other errors, if answers are not final.
    """
    try:
        yield
    except AlreadyExistsError:
        raise
    except (PaimonError, OSError):
        if file_io.failures_are_final(path):
            raise
        with begun(what):
            raise
