"""Symbolic links among a table's directories: files behind them are not the table's to delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_sql.errors import UnsafePathError
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.paths import parent_of


def refuse_links(file_io: FileIO, paths: Iterable[str], root_of: Callable[[str], str | None]) -> None:
    """Nothing if no directory between a root and the files below it is a symbolic link.

    Args:
        file_io: the file system.
        paths: files that are about to be deleted.
        root_of: the directory that a path lies under and that may itself be a link; None for any file elsewhere.

    Raises:
        UnsafePathError: one is; nothing may be deleted.
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
