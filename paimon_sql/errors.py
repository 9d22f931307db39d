"""The errors that callers can act on: one root, one child for each thing that a caller can do about it.

Every error carries one short message, an optional ``remedy`` that says what to do, and its data as attributes.
``str(error)`` is the message followed by the remedy: what the shell, a notebook or a JDBC client shows.
Every error can be pickled and copied with its class and all its data; its traceback and its cause stay behind.
"""

from __future__ import annotations

from typing import Any


class PaimonError(Exception):
    """Something that paimon-sql refuses or cannot do.

    Args:
        message: what is wrong and where, in one sentence.
        remedy: what the caller can do about it, in one sentence.
    """

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is pickled as its class and `args`, which is not what the constructors of our classes take.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[PaimonError], arguments: tuple[Any, ...], state: dict[str, Any]) -> PaimonError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


class InvalidInputError(PaimonError, ValueError):
    """A statement, value or argument that cannot be accepted; nothing was changed."""


class InvalidOptionError(InvalidInputError):
    """An option key that does not exist or a value that its key does not take; ``key`` names it."""

    def __init__(self, message: str, *, key: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.key = key


class InvalidSchemaError(InvalidInputError):
    """A table definition, or a change of one, that the format or the table's data do not allow."""


class ConstraintViolationError(InvalidInputError):
    """A row that the table refuses, such as a null in a key; no row of the statement was written."""


class UnsupportedError(PaimonError, NotImplementedError):
    """A feature that exists in Paimon but that this version does not offer here."""


class WrongKindError(UnsupportedError):
    """Something that tables with snapshots do, asked of a table of another kind; the message says what it can do."""


class NotFoundError(PaimonError, LookupError):
    """A named thing (database, table, snapshot, tag, branch) that does not exist; ``name`` is its name."""

    def __init__(self, message: str, *, name: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class NoSuchDatabaseError(NotFoundError):
    """The database does not exist in its catalog."""


class NoSuchTableError(NotFoundError):
    """The table does not exist in its database."""


class NoSuchViewError(NotFoundError):
    """The view does not exist in its database."""


class NoSuchFunctionError(NotFoundError):
    """The function does not exist in its database."""


class NoSuchPartitionError(NotFoundError):
    """The table has no such partition."""


class NoSuchSnapshotError(NotFoundError):
    """The snapshot, tag, time or watermark asked for is not retained; the message names what is."""


class AlreadyExistsError(PaimonError):
    """A thing of this name exists already; ``name`` is its name."""

    def __init__(self, message: str, *, name: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class DatabaseExistsError(AlreadyExistsError):
    """The database exists already."""


class DatabaseNotEmptyError(PaimonError):
    """The database still holds tables, views or functions, and CASCADE was not said."""


class TableExistsError(AlreadyExistsError):
    """The table exists already."""


class ViewExistsError(AlreadyExistsError):
    """The view exists already."""


class FunctionExistsError(AlreadyExistsError):
    """The function exists already."""


SET_ASIDE = "Restore the file from a copy, or CALL sys.repair, which sets it aside and says what is lost."
"""The remedy for a metadata file of a table that cannot be read."""


class CorruptFileError(PaimonError):
    """A file that breaks the format; ``path`` names it and the message names the defect."""

    def __init__(self, message: str, *, path: str, remedy: str | None = None) -> None:
        restore = "Restore the file from a copy, or read a snapshot from before it was written."
        super().__init__(f"{path}: {message.rstrip().rstrip('.')}.", remedy=remedy or restore)
        self.path = path


class UnsafePathError(CorruptFileError):
    """Metadata names a file outside of the folders that its table may use; nothing was read or deleted there."""


class MissingFileError(PaimonError, FileNotFoundError):
    """A file that the metadata refers to is not there; the message says the likely cause."""

    def __init__(self, message: str, *, path: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class CommitConflictError(PaimonError):
    """Another writer won and this commit cannot be replayed on top of it; nothing was changed, so run it again."""


class AlreadyCommittedError(CommitConflictError):
    """These very changes are in the table already; their files belong to a snapshot."""


class CommitUnknownError(PaimonError):
    """The answer to a commit was lost: it may or may not have happened, so nothing is cleaned up.

    Re-read the table and look for ``commit_user`` and ``commit_identifier`` before running the statement again.
    """

    def __init__(self, message: str, *, commit_user: str, commit_identifier: int, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.commit_user = commit_user
        self.commit_identifier = commit_identifier


class CancelledError(PaimonError):
    """Work ended between two of its tasks, because whoever had wanted it cancelled it."""


class CatalogUnavailableError(PaimonError):
    """What keeps a catalog, such as a database server, does not answer or refuses; the message says which and why."""


class AnswerLostError(CatalogUnavailableError):
    """What keeps a catalog was asked and failed or fell silent: it may have done what it was asked to, or not."""


class NotAllowedError(PaimonError):
    """Something that options of the catalog or table, or the server, do not allow; the message names what and which."""


class SetupError(PaimonError):
    """The machine lacks something that paimon-sql needs, such as Java 17 or a supported PySpark."""
