"""Paths and names of a table's files, validated (spec: File Layouts; Paimon: `FileStorePathFactory`).

Paths are strings; there is no I/O here. Schemas, snapshots, changelogs, tags and consumers are in the directory of a
branch; data, manifests, indexes and statistics of all branches are in the directory of the table.

Since paths consist of names from metadata, every function raises UnsafePathError for a name that would lead out of its
directory. A name is a single part of a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidOptionError, UnsafePathError
from paimon_sql.format.bytes.memory import binary_buffers
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY

MAIN_BRANCH = "main"
LATEST_HINT, EARLIEST_HINT = "LATEST", "EARLIEST"
"""Hint files of snapshots and changelogs, with the max and the min id; they may be outdated."""
POSTPONE_BUCKET = -2
INDEX_SUFFIX = ".index"

SNAPSHOT, CHANGELOG, SCHEMA, TAG, CONSUMER, BRANCH = "snapshot", "changelog", "schema", "tag", "consumer", "branch"
MANIFEST, INDEX, STATISTICS = "manifest", "index", "statistics"
OF_EACH_BRANCH, OF_ALL_BRANCHES = (SNAPSHOT, CHANGELOG, SCHEMA, TAG, CONSUMER), (BRANCH, MANIFEST, INDEX, STATISTICS)
"""The directories of metadata in that of a branch, and those in that of the table only."""

_BRANCH_PREFIX = "branch-"
_COMPRESSIONS = {"gzip": "gz", "bzip2": "bz2", "zstd": "zst", "deflate": "deflate", "snappy": "snappy", "lz4": "lz4"}
_TEXT_FORMATS = ("json", "csv")


def is_branch_root(path: str) -> bool:
    """Whether a path is the directory of a branch, and not of a table."""
    return path.split("/")[-2:-1] == [BRANCH] and path.rpartition("/")[2].startswith(_BRANCH_PREFIX)


@dataclass(frozen=True)
class TablePaths:
    """The paths of one branch of a table.

    Args:
        root: the table's directory, without a trailing slash.
        branch: the branch.
        data_directory: the directory of the data, relative to the table (``data-file.path-directory``).

    Raises:
        InvalidInputError: the branch or the data directory would lie outside of the table.
    """

    root: str
    branch: str = MAIN_BRANCH
    data_directory: str | None = None

    def __post_init__(self) -> None:
        if not is_file_name(self.branch):
            raise InvalidInputError(f"{self.branch!r} cannot be the name of a branch.")
        if self.data_directory and not all(map(is_file_name, self.data_directory.rstrip("/").split("/"))):
            raise InvalidOptionError(
                f"'{DATA_FILE_PATH_DIRECTORY.key}' is {self.data_directory!r}, which is not a subdirectory of the"
                " table's directory.",
                key=DATA_FILE_PATH_DIRECTORY.key,
                remedy="Use names of directories separated by '/'.",
            )

    @property
    def branch_root(self) -> str:
        """The directory of the branch."""
        return self.root if self.branch == MAIN_BRANCH else f"{self.root}/{BRANCH}/{_BRANCH_PREFIX}{self.branch}"

    def of_branch(self, branch: str) -> TablePaths:
        """The paths of another branch of the table."""
        return TablePaths(self.root, branch, self.data_directory)

    def snapshot(self, snapshot_id: int) -> str:
        """A snapshot file."""
        return f"{self.branch_root}/{SNAPSHOT}/snapshot-{snapshot_id}"

    def changelog(self, snapshot_id: int) -> str:
        """The changelog file of an expired snapshot."""
        return f"{self.branch_root}/{CHANGELOG}/changelog-{snapshot_id}"

    def schema(self, schema_id: int) -> str:
        """A schema file."""
        return f"{self.branch_root}/{SCHEMA}/schema-{schema_id}"

    def tag(self, name: str) -> str:
        """A tag file."""
        return inside(f"{self.branch_root}/{TAG}", f"tag-{name}")

    def consumer(self, name: str) -> str:
        """A consumer file."""
        return inside(f"{self.branch_root}/{CONSUMER}", f"consumer-{name}")

    def directory(self, kind: str) -> str:
        """The directory of one kind of the branch's files, such as ``snapshot``."""
        return f"{self.branch_root}/{kind}"

    def branches(self) -> str:
        """The directory of branches other than main."""
        return f"{self.root}/{BRANCH}"

    def manifest(self, name: str) -> str:
        """A manifest, manifest list or index manifest."""
        return inside(f"{self.root}/{MANIFEST}", name)

    def statistics(self, name: str) -> str:
        """A statistics file."""
        return inside(f"{self.root}/{STATISTICS}", name)

    def index(self, name: str, external_path: str | None = None, bucket: str | None = None) -> str:
        """An index file.

        Args:
            name: the file's name.
            external_path: the full path if the file is external.
            bucket: the bucket's directory if index files are stored with the data (``index-file-in-data-file-dir``).
        """
        return data_file(bucket or f"{self.root}/{INDEX}", name, external_path)

    def data_root(self) -> str:
        """The directory above the partitions."""
        return f"{self.root}/{self.data_directory}" if self.data_directory else self.root

    def relative_bucket(self, partition: str, bucket: int) -> str:
        """A bucket's directory relative to the table or to an external path.

        Args:
            partition: the partition's path by `PartitionPaths.path`; empty if not partitioned.
            bucket: the bucket's number.
        """
        name = "bucket-postpone" if bucket == POSTPONE_BUCKET else f"bucket-{bucket}"
        return "/".join(part for part in (self.data_directory, partition, name) if part)

    def bucket(self, partition: str, bucket: int) -> str:
        """A bucket's directory; the arguments are those of `relative_bucket`."""
        return f"{self.root}/{self.relative_bucket(partition, bucket)}"


def data_file(bucket: str, name: str, external_path: str | None) -> str:
    """A data file's path: its external path if it has one, else in its bucket's directory."""
    return checked_external_path(external_path) if external_path else inside(bucket, name)


def extra_file(bucket: str, name: str, external_path: str | None) -> str:
    """The path of an extra file of a data file, which is in the same directory.

    Args:
        bucket: the bucket's directory.
        name: the extra file's name.
        external_path: the external path of the data file, if it has one.
    """
    return inside(checked_external_path(external_path).rpartition("/")[0] if external_path else bucket, name)


def index_name(uuid: str, count: int) -> str:
    """The name of a new index file of a bucket or table."""
    return f"index-{uuid}-{count}"


def global_index_name(kind: str, uuid: str) -> str:
    """The name of a new file of a global index."""
    return f"{kind}-global-index-{uuid}{INDEX_SUFFIX}"


def statistics_name(uuid: str, count: int) -> str:
    """The name of a new statistics file."""
    return f"stat-{uuid}-{count}"


def data_file_name(prefix: str, uuid: str, count: int, extension: str) -> str:
    """The name of a new data or changelog file.

    Args:
        prefix: the value of ``data-file.prefix`` or ``changelog-file.prefix``.
        uuid: the writer's unique id.
        count: the number of files that the writer made before.
        extension: the extension by `data_extension`.
    """
    return f"{prefix}{uuid}-{count}{extension}"


def data_extension(file_format: str, compression: str, *, with_compression: bool = False) -> str:
    """The extension of a data file, such as ``.parquet`` or ``.zst.parquet``.

    Args:
        file_format: the identifier of the file format.
        compression: the value of ``file.compression``.
        with_compression: whether to include the compression (``file.suffix.include.compression``); extensions of
            compressed text files always do.
    """
    known = compression.lower()
    extension = "" if known == "none" else _COMPRESSIONS.get(known, compression)
    if extension and file_format.lower() in _TEXT_FORMATS:
        return f".{file_format}.{extension}"
    if extension and with_compression:
        return f".{extension}.{file_format}"
    return f".{file_format}"


def format_of(name: str) -> str:
    """The identifier of the file format, from a data file's name.

    Raises:
        ValueError: the name has no extension.
    """
    stem, dot, extension = name.rpartition(".")
    if dot and extension.lower() in _COMPRESSIONS.values():
        _, dot, extension = stem.rpartition(".")
    if not dot:
        raise ValueError(f"the file name '{name}' contains no file format")
    return extension


def file_index_name(data_file_name: str) -> str:
    """The name of the file index of a data file."""
    return data_file_name + INDEX_SUFFIX


def next_file_index_name(name: str) -> str:
    """The name of the file index that replaces the one with ``name``."""
    stem = name.rpartition(".")[0]
    head, dash, number = stem.rpartition("-")
    if dash and number.isascii() and number.isdigit():
        return f"{head}-{int(number) + 1}{INDEX_SUFFIX}"
    return f"{stem}-1{INDEX_SUFFIX}"


def number_of(name: str, kind: str) -> int | None:
    """The number in a file name, such as 7 in ``snapshot-7``; None if the name is not of this kind."""
    head, _, number = name.rpartition("-")
    return int(number) if head == kind and number.isascii() and number.isdigit() else None


_UNSAFE_NAME = r"^\.{0,2}$|[/\\\x00-\x1f\x7f]"
_UNSAFE_PATH = r"(^|/)\.{1,2}(/|$)|[\\\x00-\x1f\x7f]|/$"
_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:)?/."
_NAME, _PATH, _ROOTED = re.compile(_UNSAFE_NAME), re.compile(_UNSAFE_PATH), re.compile(_ABSOLUTE)
_MIN_LENGTH = 3
"""Shorter names are checked one by one: they may be ``.`` or ``..``."""
_MAX_SHOWN = 200


def is_file_name(text: str) -> bool:
    """Whether a string is a file name: not empty, ``.`` or ``..``, without separators and control characters."""
    return _NAME.search(text) is None


def is_straight_path(text: str) -> bool:
    """Whether a string is an absolute path or URI without ``.``, ``..`` and control characters."""
    return _PATH.search(text) is None and _ROOTED.search(text) is not None


def inside(directory: str, name: str) -> str:
    """The path of a file in a directory.

    Raises:
        UnsafePathError: the name is not a file name.
    """
    if _NAME.search(name):
        raise unsafe_name(name, "a file", directory)
    return f"{directory}/{name}"


def checked_external_path(path: str) -> str:
    """Check an external path (``_EXTERNAL_PATH``) and return it unchanged.

    Whether the table may use it is checked where the table's options are known.

    Raises:
        UnsafePathError: it is relative, or has ``.`` or ``..``.
    """
    if not is_straight_path(path):
        raise unsafe_path(path, "a file", "metadata")
    return path


def check_file_names(names: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
    """Check that all strings of a column are file names, or null.

    Args:
        names: the names.
        what: what they name, for the error message.
        path: the file that contains them.

    Raises:
        UnsafePathError: one is not.
    """
    for chunk in _chunks(names):
        if _is_suspicious(chunk):
            unsafe = chunk.filter(pc.match_substring_regex(chunk, _UNSAFE_NAME))
            if len(unsafe):
                raise unsafe_name(unsafe[0].as_py(), what, path)


def check_straight_paths(paths: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
    """Check that all strings of a column are absolute paths without ``.`` and ``..``, or null.

    Raises:
        UnsafePathError: one is not; the arguments are those of `check_file_names`.
    """
    for chunk in _chunks(paths):
        safe = pc.and_not(pc.match_substring_regex(chunk, _ABSOLUTE), pc.match_substring_regex(chunk, _UNSAFE_PATH))
        unsafe = chunk.filter(pc.invert(safe))
        if len(unsafe):
            raise unsafe_path(unsafe[0].as_py(), what, path)


def unsafe_name(name: str, what: str, path: str) -> UnsafePathError:
    """The error of a name that could lead out of its directory."""
    return UnsafePathError(f"it names {what} {_shown(name)}, which is not a file name", path=path)


def unsafe_path(named: str, what: str, path: str) -> UnsafePathError:
    """The error of a path that is not absolute, or has ``.`` or ``..``."""
    return UnsafePathError(f"it names {what} {_shown(named)}, which is not an absolute path", path=path)


def _shown(name: str) -> str:
    return ascii(name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…")


def _chunks(column: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if chunk.null_count < len(chunk):
            yield chunk.drop_null() if chunk.null_count else chunk


def _is_suspicious(names: pa.Array) -> bool:
    """Whether a name has an invalid byte or is very short, so that names must be matched one by one."""
    data, offsets = binary_buffers(names)
    letters = data[offsets[0] : offsets[-1]]
    if np.diff(offsets).min(initial=_MIN_LENGTH) < _MIN_LENGTH or not len(letters):
        return True
    raw = letters.tobytes()
    return letters.min() < 0x20 or b"/" in raw or b"\\" in raw or b"\x7f" in raw
