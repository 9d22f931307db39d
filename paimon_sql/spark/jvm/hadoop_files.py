"""File systems as Hadoop knows them, through which Spark's own readers and writers open files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from py4j.protocol import Py4JError

from paimon_sql.errors import SetupError, UnsupportedError
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import S3_SCHEMES, scheme_of, store_of, under_scheme
from paimon_sql.storage.file_io.s3 import S3Settings, s3_options
from paimon_sql.storage.format_tables import FormatTable

_HADOOP = "org.apache.hadoop"
_S3A = "s3a"
_JARS = {
    **dict.fromkeys(S3_SCHEMES, "hadoop-aws"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "hadoop-azure"),
    "oss": "hadoop-aliyun",
}
"""The jars of Hadoop's own that hold a scheme's file system."""
_NEEDED = {
    _S3A: ("software.amazon.awssdk.services.s3.S3Client", "software.amazon.awssdk.transfer.s3.S3TransferManager")
}
"""Classes of other jars without which a file system cannot begin, though its own class is there."""
_ROLES = f"{_HADOOP}.fs.s3a.auth.AssumedRoleCredentialProvider"
_OWN = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
"""Who assumes a role: the environment, the profile or the machine, as with the other clients."""


def reads(jvm: Jvm, stores: Iterable[tuple[str, str]], file_io: FileIO) -> bool:
    """Whether Spark's own reader reaches files as Python does.

    Hadoop has no file system for S3 but by a jar that a stock Spark has not; and it keeps one for each bucket, with the
    credentials of whoever came first.

    Args:
        jvm: the JVM.
        stores: scheme and authority of the files.
        file_io: how Python reaches them.
    """
    options = file_io.options
    if file_io.credentials_change:
        return False
    return all(_is_known(jvm, scheme) and _is_first(jvm, (scheme, name), options) for scheme, name in stores)


def check_table(jvm: Jvm, session: Any, table: FormatTable) -> None:
    """Refuse a format table whose files Spark's own readers and writers do not reach.

    Raises:
        UnsupportedError: the credentials for its files are lent and change.
        SetupError: there is no file system for it on the class path, or that of another catalog.
    """
    if table.file_io.credentials_change:
        raise UnsupportedError(
            f"{table.name}: its server lends credentials for a time, which Spark's own sources cannot take.",
            remedy="Make an ordinary table.",
        )
    check_reached(jvm, session, table.location, table.file_io.options, table.name)


def check_reached(jvm: Jvm, session: Any, path: str, options: Mapping[str, str], what: str) -> None:
    """Refuse a path that Spark's own readers and writers do not reach by a catalog's options.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        path: the path.
        options: the catalog's options.
        what: who wants it, as the beginning of a sentence.

    Raises:
        SetupError: there is no file system for it on the class path, or that of another catalog.
    """
    store = store_of(path)
    if store[0] == "file":
        return
    settings = jvm.scala_map(jvm.java_map(hadoop_settings(options, [store])))
    if not _found(jvm, _hadoops(store[0]), session.sessionState().newHadoopConfWithOptions(settings)):
        raise SetupError(f"{what}: Spark has no file system for {path}.", remedy=_remedy(jvm, store[0]))
    if not _is_first(jvm, store, options):
        raise SetupError(
            f"{what}: Spark has opened {store[0]}://{store[1]} for a catalog with other options, and keeps it.",
            remedy="Give both catalogs the same options for it, or use them from programs of their own.",
        )


def hadoop_url(path: str) -> str:
    """A path with a scheme as a URL, under the scheme by which Hadoop knows its file system."""
    scheme = scheme_of(path)
    return _hadoops(scheme) + quote(path[len(scheme) :], safe="/:@")


def hadoop_text(path: str) -> str:
    """A path as Hadoop takes it, nothing in it escaped; one without a scheme as it is."""
    return under_scheme(path, _S3A) if scheme_of(path) in S3_SCHEMES else path


def hadoop_path(jvm: Jvm, path: str) -> Any:
    """A path as Hadoop's ``Path``, with its file system; nothing in it is escaped."""
    return jvm.new(f"{_HADOOP}.fs.Path", f"file:{path}" if path.startswith("/") else hadoop_text(path))


def hadoop_settings(options: Mapping[str, str], stores: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What a catalog's options say of object stores, in Hadoop's words.

    Args:
        options: the catalog's options.
        stores: scheme and authority of what is to be opened; buckets may have options of their own.
    """
    settings = {key: value for key, value in options.items() if key.startswith("fs.")}
    for scheme, bucket in stores:
        given = s3_options(options, bucket) if scheme in S3_SCHEMES else {}
        if not given:
            continue
        known = S3Settings(options, bucket)
        given["path.style.access"] = str(known.has_paths).lower()
        if known.region:
            given["endpoint.region"] = known.region
        if known.role:
            given = {"aws.credentials.provider": _ROLES, "assumed.role.credentials.provider": _OWN, **given}
        # Whatever the session says of the bucket, the files are found where the catalog has them.
        settings |= {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in given.items()}
    return settings


def has_settings(configuration: Any, path: str, options: Mapping[str, str]) -> bool:
    """Whether Hadoop's configuration has settings of a path's very bucket, and a catalog's options have none."""
    scheme, bucket = store_of(path)
    if scheme not in S3_SCHEMES or s3_options(options, bucket) != s3_options(options, ""):
        return False
    return not configuration.getPropsWithPrefix(f"fs.s3a.bucket.{bucket}.").isEmpty()


def _hadoops(scheme: str) -> str:
    """The scheme by which Hadoop knows a scheme's file system."""
    return _S3A if scheme in S3_SCHEMES else scheme


def _is_known(jvm: Jvm, scheme: str) -> bool:
    """Whether there is a file system of the scheme, and what it needs."""
    if scheme == "file":
        return True
    named, jobs = _hadoops(scheme), jvm.context._jsc
    return bool(jvm.constant(f"file system of {named}", lambda: _found(jvm, named, jobs.hadoopConfiguration())))


def _found(jvm: Jvm, scheme: str, configuration: Any) -> bool:
    try:
        jvm.static(f"{_HADOOP}.fs.FileSystem", "getFileSystemClass")(scheme, configuration)
        for name in _NEEDED.get(scheme, ()):
            jvm.java_class(name)
    except Py4JError:
        return False
    return True


def _is_first(jvm: Jvm, store: tuple[str, str], options: Mapping[str, str]) -> bool:
    """Whether nobody came with other options before."""
    scheme, name = store
    if scheme == "file":
        return True
    settings = hadoop_settings(options, [store])
    return bool(jvm.constant(f"settings of {_hadoops(scheme)}://{name}", lambda: settings) == settings)


def _remedy(jvm: Jvm, scheme: str) -> str:
    if scheme not in _JARS:
        return "Put its jar on Spark's class path."
    version = jvm.static(f"{_HADOOP}.util.VersionInfo", "getVersion")()
    artifact = f"{_HADOOP}:{_JARS[scheme]}:{version}"
    return f"Start Spark with 'spark.jars.packages' = '{artifact}', or with that jar and what it needs."
