"""Which kind of file system each scheme names."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.file_io.backends import (
    AzureBackend,
    Backend,
    FsspecBackend,
    GcsBackend,
    HdfsBackend,
    OssBackend,
    has_fsspec,
)
from paimon_sql.storage.file_io.paths import S3_SCHEMES
from paimon_sql.storage.file_io.s3 import S3Backend

_BACKENDS: dict[str, Backend] = {}


def register_backend(scheme: str, backend: Backend) -> None:
    """Make a scheme's file system known."""
    _BACKENDS[scheme] = backend


def backend_of(scheme: str) -> Backend:
    """The kind of file system that a scheme names.

    Raises:
        UnsupportedError: neither Arrow nor an installed fsspec knows the scheme.
    """
    if scheme not in _BACKENDS:
        if not has_fsspec(scheme):
            raise UnsupportedError(
                f"No file system is known for the scheme '{scheme}'.",
                remedy=f"Known are file, {', '.join(sorted(_BACKENDS))}, and fsspec's where fsspec is installed.",
            )
        _BACKENDS[scheme] = FsspecBackend(scheme)
    return _BACKENDS[scheme]


for _schemes, _backend in (
    (S3_SCHEMES, S3Backend()),
    (("oss",), OssBackend()),
    (("gs",), GcsBackend()),
    (("abfs", "abfss", "wasb", "wasbs"), AzureBackend()),
    (("hdfs", "viewfs"), HdfsBackend()),
):
    for _scheme in _schemes:
        register_backend(_scheme, _backend)
