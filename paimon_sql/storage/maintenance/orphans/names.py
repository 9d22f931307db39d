"""File names of Paimon's writers, by kind of directory.

Files with other names were created by something else, and are never removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from paimon_sql.format.options.operations.changelog import CHANGELOG_FILE_PREFIX
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX
from paimon_sql.storage.table.table import Table

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TEMPORARY = re.compile(rf"\..+\.{_UUID}\.tmp|{_UUID}-(?:EARLIEST|LATEST)\.temp")
_POSTPONED = r"-u-.+-s-\d+-w-"
_INDEX = rf"index-{_UUID}-\d+"
_PACKED_BLOBS = ".managed.blob"


class FolderKind(str, Enum):
    """The content of a table's directory."""

    DATA = "data"
    """Data and changelog files of a bucket, with their indexes."""
    MANIFEST = "manifest"
    INDEX = "index"
    STATISTICS = "statistics"
    NUMBERED = "numbered"
    """Snapshots, schemas, tags and the like, which are never orphans; only temporary files may be."""


_NAMES = {
    FolderKind.MANIFEST: re.compile(rf"(?:manifest|manifest-list|index-manifest)-{_UUID}-\d+"),
    FolderKind.INDEX: re.compile(rf"{_INDEX}|.+-global-index-{_UUID}\.index"),
    FolderKind.STATISTICS: re.compile(rf"stat-{_UUID}-\d+"),
}


@dataclass(frozen=True)
class WriterNames:
    """The names that writers of a table give to files.

    Attributes:
        prefixes: prefixes of data and changelog files.
    """

    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, tables: Iterable[Table]) -> WriterNames:
        """Return the names under any schema version of any branch."""
        found = {DATA_FILE_PREFIX.default or "", CHANGELOG_FILE_PREFIX.default or ""}
        for table in tables:
            for options in (table.schema.options, *(s.options for s in table.schemas.all())):
                found |= _prefixes(options)
        return cls(tuple(sorted(found)))

    def pattern(self, kind: FolderKind) -> re.Pattern[str] | None:
        """Return the pattern of file names in such a directory; None if only temporary files count."""
        if kind is not FolderKind.DATA:
            return _NAMES.get(kind)
        prefixes = "|".join(map(re.escape, self.prefixes))
        extensions = r"(?:\.[A-Za-z0-9_]+)*"
        return re.compile(rf"(?:{prefixes})(?:{_POSTPONED})?{_UUID}-\d+{extensions}(?:-\d+\.index)?|{_INDEX}")


def is_temporary(name: str) -> bool:
    """Whether a file is temporary, to be renamed when it is complete."""
    return _TEMPORARY.fullmatch(name) is not None


def is_packed(name: str) -> bool:
    """Whether a file contains blobs that many data files refer to, which no manifest records."""
    return name.endswith(_PACKED_BLOBS)


def _prefixes(options: Mapping[str, str]) -> set[str]:
    return {options[o.key] for o in (DATA_FILE_PREFIX, CHANGELOG_FILE_PREFIX) if o.key in options}
