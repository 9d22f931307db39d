"""Translation of file system errors into ``PaimonError``, with path, reason and remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from paimon_sql.errors import InvalidInputError, MissingFileError, PaimonError, UnsupportedError

_NO_BUCKET = ("NoSuchBucket", "NO_SUCH_BUCKET")
_WRONG_CREDENTIALS = (
    "SignatureDoesNotMatch",
    "SIGNATURE_DOES_NOT_MATCH",
    "InvalidAccessKeyId",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_CLIENT_TOKEN_ID",
    "Unable to locate credentials",
)
_UNREACHABLE = (
    "NETWORK_CONNECTION",
    "Could not connect to the endpoint",
    "Connect timeout",
    "Read timeout",
    "Couldn't resolve",
)
_DENIED = ("ACCESS_DENIED", "AccessDenied", "PERMISSION_DENIED", "Permission denied", "HTTP status 403", "Forbidden")
_NOT_FOUND = ("NoSuchKey", "NO_SUCH_KEY", "HTTP status 404")
_MAX_NAME_BYTES = 255
MAKE_DIRECTORY = "make the directory"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translate_errors(action: str, path: str) -> Iterator[None]:
    """Translate errors of the operating system and of Arrow into ``PaimonError``; ``action`` completes "Cannot ..."."""
    try:
        yield
    except PaimonError:
        raise
    except OSError as error:
        raise _translated(action, path, error) from error


def _translated(action: str, path: str, error: OSError) -> PaimonError:
    text = (error.strerror or str(error)).strip().rstrip(".")
    if error.errno == errno.ENAMETOOLONG:
        return _too_long(action, path)
    if action == MAKE_DIRECTORY and isinstance(error, FileNotFoundError | NotADirectoryError):
        return PaimonError(
            f"Cannot {action} {path}: there can be none in that place.", remedy="Check the warehouse's path."
        )
    if any(word in text for word in _NO_BUCKET):
        return PaimonError(
            f"Cannot {action} {path}: the store has no such bucket.", remedy="Make the bucket, or check the path."
        )
    if any(word in text for word in _WRONG_CREDENTIALS):
        return PaimonError(
            f"Cannot {action} {path}: the store refuses the credentials.",
            remedy="Check the catalog's options 's3.access-key' and 's3.secret-key'.",
        )
    if any(word in text for word in _UNREACHABLE):
        return PaimonError(
            f"Cannot {action} {path}: the store does not answer.",
            remedy="Check the catalog's option 's3.endpoint' and the network.",
        )
    if isinstance(error, FileNotFoundError) or any(word in text for word in _NOT_FOUND):
        return MissingFileError(
            f"Cannot {action} {path}: it does not exist.",
            path=path,
            remedy="Another process may have expired or deleted it: read the table's latest snapshot again.",
        )
    if isinstance(error, PermissionError) or any(word in text for word in _DENIED):
        return PaimonError(
            f"Cannot {action} {path}: permission denied.",
            remedy="Grant this user access to the path, or check the credentials in the catalog's options.",
        )
    if error.errno in _NO_SPACE:
        return PaimonError(f"Cannot {action} {path}: no space left.", remedy="Free some space and run it again.")
    return PaimonError(f"Cannot {action} {path}: {text}.")


def _too_long(action: str, path: str) -> InvalidInputError:
    parents: list[str] = []
    for part in path.split("/"):
        length = len(part.encode("utf-8", "surrogateescape"))
        if length > _MAX_NAME_BYTES:
            parent = "/".join(parents)
            return InvalidInputError(
                f"Cannot {action} a file under {parent}: the name '{part[:40]}…' has {length} bytes, more than the file"
                " system takes.",
                remedy=f"Names of tables and values of partition columns must leave room for {_MAX_NAME_BYTES} bytes.",
            )
        parents.append(part)
    return InvalidInputError(f"Cannot {action} {path[:200]}…: the path is too long for the file system.")


def no_exclusive_create(path: str, why: str) -> UnsupportedError:
    """Return the error of a file system on which concurrent writers need a lock."""
    return UnsupportedError(
        f"Cannot create {path} safely: {why}, so two concurrent commits could overwrite each other.",
        remedy="Set the catalog option 'lock.enabled' = 'true' on a JDBC or Hive catalog.",
    )
