"""Definitions that a filesystem catalog keeps beside its tables: views and functions, a file each.

Paimon lays down no place for them in a filesystem catalog. Ours are JSON files in folders of the database that hold
no schema, so that no engine takes them for tables: ``<database>.db/_views/<name>.json`` and ``_functions``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from paimon_sql.storage.file_io import FileIO

_SUFFIX = ".json"


class Document(Protocol):
    """What is kept."""

    def to_json(self) -> str:
        """The text of its file."""


T = TypeVar("T", bound=Document)


class Definitions(Generic[T]):
    """The definitions of one kind in one database.

    Args:
        file_io: the catalog's files.
        folder: where they are kept.
        parse: reads one from its file's content and path.
    """

    def __init__(self, file_io: FileIO, folder: str, parse: Callable[[bytes, str], T]) -> None:
        self._file_io = file_io
        self._folder = folder
        self._parse = parse

    def names(self) -> list[str]:
        """The names of all of them, sorted."""
        found = self._file_io.list(self._folder)
        return sorted(s.name.removesuffix(_SUFFIX) for s in found if not s.is_dir and s.name.endswith(_SUFFIX))

    def get(self, name: str) -> T | None:
        """The definition of that name; None without one."""
        path = self._path(name)
        return self._parse(self._file_io.read_bytes(path), path) if self._file_io.exists(path) else None

    def exists(self, name: str) -> bool:
        """Whether there is one of that name."""
        return self._file_io.exists(self._path(name))

    def add(self, name: str, definition: T) -> bool:
        """Keep a new one; False where there is one of that name."""
        return self._file_io.try_create_exclusive(self._path(name), definition.to_json().encode())

    def put(self, name: str, definition: T) -> None:
        """Keep one, in the place of another of that name if there is one."""
        self._file_io.write_durably(self._path(name), definition.to_json().encode())

    def drop(self, name: str) -> bool:
        """Forget one; False where there is none of that name."""
        return self._file_io.delete_durably(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}{_SUFFIX}"
