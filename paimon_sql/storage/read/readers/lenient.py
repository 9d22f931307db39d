"""Lenient reads: missing or corrupt data files are skipped, if the table's options allow it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.options.operations.scan import SCAN_IGNORE_CORRUPT_FILES, SCAN_IGNORE_LOST_FILES
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


def ignoring_files(table: Table) -> Table:
    """The table for a query, which skips unreadable files if the options allow it."""
    asked = table.options.get(SCAN_IGNORE_LOST_FILES) or table.options.get(SCAN_IGNORE_CORRUPT_FILES)
    return replace(table, ignores_unreadable=True) if asked else table


def ignoring_failures(table: Table, path: str, read: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Read a data file up to the point where it is missing or corrupt, if the options allow it; log what is skipped."""
    try:
        yield from read()
    except MissingFileError:
        if not table.options.get(SCAN_IGNORE_LOST_FILES):
            raise
        _LOG.warning("%s: passing over %s, which is gone ('%s')", table.name, path, SCAN_IGNORE_LOST_FILES.key)
    except CorruptFileError as error:
        if not table.options.get(SCAN_IGNORE_CORRUPT_FILES):
            raise
        option = SCAN_IGNORE_CORRUPT_FILES.key
        _LOG.warning("%s: passing over the rest of %s: %s ('%s')", table.name, path, error, option)
