"""Symbolic links among a table's directories: files behind them must not be deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_sql.errors import UnsafePathError
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.paths import parent_of


def refuse_links(file_io: FileIO, paths: Iterable[str], root_of: Callable[[str], str | None]) -> None:
    """Check that no directory between a root and the files below it is a symbolic link.

    Args:
        file_io: the file system.
        paths: files to delete.
        root_of: returns the root of a path, which itself may be a link; None skips the path.

    Raises:
        UnsafePathError: a directory is a link; nothing may be deleted.
    """
    for path in {parent_of(path): path for path in paths}.values():
        root = root_of(path)
        link = None if root is None else file_io.link_below(root, path)
        if link is not None:
            raise UnsafePathError(
                "is a symbolic link inside of a table, and files behind it are not deleted",
                path=link,
                remedy="Replace it by a directory or a mount.",
            )
