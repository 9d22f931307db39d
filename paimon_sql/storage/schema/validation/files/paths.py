"""Rules about where files stand: options that become parts of paths keep them inside the table's folder."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paimon_sql.errors import InvalidOptionError, PaimonError
from paimon_sql.format.options.operations.changelog import CHANGELOG_FILE_PREFIX
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY, DATA_FILE_PREFIX
from paimon_sql.storage.schema.validation.definition import Definition, conflict
from paimon_sql.storage.table.paths.external_placement import ExternalPlacement

_NOT_IN_NAMES = re.compile(r"[/\\\x00-\x1f]")


def file_prefixes(table: Definition) -> Iterator[PaimonError]:
    """What the names of files begin with holds no separator, or they would stand in other folders."""
    for option in (DATA_FILE_PREFIX, CHANGELOG_FILE_PREFIX):
        text = table.options.get(option)
        if text and _NOT_IN_NAMES.search(text):
            yield conflict(option, f"cannot be {text!r}: a file's name holds no slash, backslash or control character.")


def data_directory(table: Definition) -> Iterator[PaimonError]:
    """The folder of the data is one under the table's."""
    text = table.options.get(DATA_FILE_PATH_DIRECTORY)
    if text is None:
        return
    parts = text.rstrip("/").split("/")
    if "://" in text or any(part in ("", ".", "..") or _NOT_IN_NAMES.search(part) for part in parts):
        yield conflict(
            DATA_FILE_PATH_DIRECTORY,
            f"cannot be {text!r}: the data stand in a folder under the table's.",
            "Give a path such as 'data', without '.', '..' or a slash at its beginning.",
        )


def external_paths(table: Definition) -> Iterator[PaimonError]:
    """The directories elsewhere can be chosen among as the table says."""
    try:
        ExternalPlacement.of(table.schema.options)
    except InvalidOptionError as error:
        yield error
