"""Changes of a table's history in several steps: an error after the first one is no refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_sql.errors import CommitUnknownError, PaimonError


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
