"""Errors: one root, and one class for each reaction that a caller can have.

Every error has one short message, an optional ``remedy`` (what to do), and its data as attributes. ``str(error)`` is
the message followed by the remedy, as the shell, a notebook or a JDBC client shows it.
Errors can be pickled and copied with class and data, without traceback and cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PaimonError(Exception):
    """Something that paimon-sql refuses or cannot do.

    Args:
        message: what is wrong and where; one sentence.
        remedy: what the caller can do about it; one sentence.
    """

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are pickled as class and `args`, which do not fit the constructors of these classes.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[PaimonError], arguments: tuple[object, ...], state: dict[str, object]) -> PaimonError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


class InvalidInputError(PaimonError, ValueError):
    """A statement, value or argument is invalid; nothing was changed."""


class InvalidOptionError(InvalidInputError):
    """An option key does not exist, or its value is invalid; ``key`` is the key."""

    def __init__(self, message: str, *, key: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.key = key


class InvalidSchemaError(InvalidInputError):
    """A table definition, or a change of one, is not allowed by the format or by the table's data."""


class ConstraintViolationError(InvalidInputError):
    """A row violates a constraint, such as a null in a key; no row of the statement was written."""


class UnsupportedError(PaimonError, NotImplementedError):
    """A feature of Paimon that this version does not support here."""


class WrongKindError(UnsupportedError):
    """The table is of a kind that does not support the operation; the message names what it supports."""


class NotFoundError(PaimonError, LookupError):
    """A named object (database, table, snapshot, tag, branch) does not exist; ``name`` is its name."""

    def __init__(self, message: str, *, name: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class NoSuchDatabaseError(NotFoundError):
    """The database does not exist in its catalog."""


class NoSuchTableError(NotFoundError):
    """The table does not exist in its database."""


class NoSuchSystemTableError(NoSuchTableError):
    """A table exists, but has no system table of that name."""


class NoSuchViewError(NotFoundError):
    """The view does not exist in its database."""


class NoSuchFunctionError(NotFoundError):
    """The function does not exist in its database."""


class NoSuchPartitionError(NotFoundError):
    """The table has no such partition."""


class NoSuchSnapshotError(NotFoundError):
    """The requested snapshot, tag, time or watermark is not retained; the message names what is."""


class AlreadyExistsError(PaimonError):
    """An object of this name exists already; ``name`` is its name."""

    def __init__(self, message: str, *, name: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class DatabaseExistsError(AlreadyExistsError):
    """The database exists already."""


class DatabaseNotEmptyError(PaimonError):
    """The database holds tables, views or functions, and CASCADE was not given."""


class TableExistsError(AlreadyExistsError):
    """The table exists already."""


class ViewExistsError(AlreadyExistsError):
    """The view exists already."""


class FunctionExistsError(AlreadyExistsError):
    """The function exists already."""


REPAIR_REMEDY = "Restore the file from a copy, or CALL sys.repair, which moves it aside and reports what is lost."
"""The remedy for an unreadable metadata file."""


class CorruptFileError(PaimonError):
    """A file violates its format; ``path`` is its path, and the message names the defect."""

    def __init__(self, message: str, *, path: str, remedy: str | None = None) -> None:
        restore = "Restore the file from a copy, or read a snapshot from before it was written."
        super().__init__(f"{path}: {message.rstrip().rstrip('.')}.", remedy=remedy or restore)
        self.path = path


class UnsafePathError(CorruptFileError):
    """Metadata names a file outside of its table's directories; nothing was read or deleted there."""


class MissingFileError(PaimonError, FileNotFoundError):
    """A file that the metadata refers to is missing; the message names the likely cause."""

    def __init__(self, message: str, *, path: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class CommitConflictError(PaimonError):
    """A concurrent commit conflicts with this one; nothing was changed, so run the statement again."""


class AlreadyCommittedError(CommitConflictError):
    """These changes are committed already; their files belong to a snapshot."""


class CommitUnknownError(PaimonError):
    """The outcome of a commit is unknown, because the answer was lost; nothing is cleaned up.

    Re-read the table and look for ``commit_user`` and ``commit_identifier`` before running the statement again.
    """

    def __init__(self, message: str, *, commit_user: str, commit_identifier: int, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.commit_user = commit_user
        self.commit_identifier = commit_identifier


class CancelledError(PaimonError):
    """The work was cancelled by its caller, and ended between two of its tasks."""


class CatalogUnavailableError(PaimonError):
    """A catalog's backend, such as a database server, refuses or does not answer; the message names it and why."""


class AnswerLostError(CatalogUnavailableError):
    """A catalog's backend failed or fell silent during a request, which may or may not have taken effect."""


class NotAllowedError(PaimonError):
    """Options of the catalog or table, or the server, forbid the operation; the message names both."""


class SetupError(PaimonError):
    """The machine lacks something that paimon-sql needs, such as Java 17 or a supported PySpark."""


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return a remedy that shows the existing name most similar to a misspelt one; None without one."""
    by_folded = {existing.lower(): existing for existing in names}
    near = get_close_matches(name.lower(), by_folded, n=1)
    return f"Did you mean {by_folded[near[0]]}?" if near else None
