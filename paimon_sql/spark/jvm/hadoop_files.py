"""Hadoop's file systems, through which Spark's own readers and writers open files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from py4j.protocol import Py4JError

from paimon_sql.errors import SetupError, UnsupportedError
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import DATASOURCES, Jvm
from paimon_sql.spark.jvm.session import JvmSession
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
"""Hadoop's jar with the file system of a scheme."""
_REQUIRED_CLASSES = {
    _S3A: ("software.amazon.awssdk.services.s3.S3Client", "software.amazon.awssdk.transfer.s3.S3TransferManager")
}
"""Classes of other jars without which a file system cannot start, although its own class exists."""
_ROLES = f"{_HADOOP}.fs.s3a.auth.AssumedRoleCredentialProvider"
_OWN = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
"""Credentials that assume a role: those of the environment, the profile or the machine, as with the other clients."""


def reads(jvm: Jvm, stores: Iterable[tuple[str, str]], file_io: FileIO) -> bool:
    """Whether Spark's own reader reaches files by the same credentials as Python.

    Hadoop's file system for S3 needs a jar that a stock Spark does not have. Hadoop caches one file system per bucket,
    with the credentials of its first user.

    Args:
        jvm: the JVM.
        stores: scheme and authority of the files.
        file_io: Python's access to them.
    """
    options = file_io.options
    if file_io.credentials_change:
        return False
    return all(_is_known(jvm, scheme) and _is_first(jvm, (scheme, name), options) for scheme, name in stores)


def check_table(session: JvmSession, table: FormatTable) -> None:
    """Check that Spark's own readers and writers reach the files of a format table.

    Raises:
        UnsupportedError: the credentials for its files are vended.
        SetupError: the class path has no file system for it, or it is opened with other options.
    """
    if table.file_io.credentials_change:
        raise UnsupportedError(
            f"{table.name}: its server vends temporary credentials, which Spark's own sources do not support.",
            remedy="Use a Paimon table instead of a format table.",
        )
    check_reachable(session, table.location, table.file_io.options, table.name)


def check_reachable(session: JvmSession, path: str, options: Mapping[str, str], what: str) -> None:
    """Check that Spark's own readers and writers reach a path by a catalog's options.

    Args:
        session: the session.
        path: the path.
        options: the catalog's options.
        what: the subject of the error message.

    Raises:
        SetupError: the class path has no file system for it, or it is opened with other options.
    """
    jvm, store = session.jvm, store_of(path)
    if store[0] == "file":
        return
    settings = jvm.scala_map(jvm.java_map(hadoop_settings(options, [store])))
    if not _found(jvm, _hadoop_scheme(store[0]), session.state.newHadoopConfWithOptions(settings)):
        raise SetupError(f"{what}: Spark has no file system for {path}.", remedy=_remedy(jvm, store[0]))
    if not _is_first(jvm, store, options):
        raise SetupError(
            f"{what}: Spark has already opened {store[0]}://{store[1]} for a catalog with other options.",
            remedy="Set the same options for it in both catalogs, or use them in separate processes.",
        )


def file_index(session: JvmSession, paths: Seq[JavaObject], options: object, partitions: JavaObject) -> JavaObject:
    """Spark's index of files in directories, with the values of their partitions (Spark: ``PartitionSpec``)."""
    jvm = session.jvm
    return jvm.new(
        f"{DATASOURCES}.InMemoryFileIndex",
        session.java,
        paths,
        options,
        jvm.none,
        jvm.singleton(f"{DATASOURCES}.NoopCache"),
        jvm.some(partitions),
        jvm.none,
    )


def hadoop_url(path: str) -> str:
    """A path with a scheme as a URL with Hadoop's scheme."""
    scheme = scheme_of(path)
    return _hadoop_scheme(scheme) + quote(path[len(scheme) :], safe="/:@")


def hadoop_path_string(path: str) -> str:
    """A path with Hadoop's scheme, not escaped; a path without a scheme is unchanged."""
    return under_scheme(path, _S3A) if scheme_of(path) in S3_SCHEMES else path


def hadoop_path(jvm: Jvm, path: str) -> JavaObject:
    """A path as Hadoop's ``Path`` with a scheme, not escaped."""
    return jvm.new(f"{_HADOOP}.fs.Path", f"file:{path}" if path.startswith("/") else hadoop_path_string(path))


def hadoop_settings(options: Mapping[str, str], stores: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A catalog's options of object stores as settings of Hadoop.

    Args:
        options: the catalog's options.
        stores: scheme and authority of the files; buckets may have options of their own.
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
        # Settings of the bucket override those of the session.
        settings |= {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in given.items()}
    return settings


def has_settings(configuration: JavaObject, path: str, options: Mapping[str, str]) -> bool:
    """Whether Hadoop's configuration has settings for a path's bucket and a catalog's options have none."""
    scheme, bucket = store_of(path)
    if scheme not in S3_SCHEMES or s3_options(options, bucket) != s3_options(options, ""):
        return False
    return not configuration.getPropsWithPrefix(f"fs.s3a.bucket.{bucket}.").isEmpty()


def _hadoop_scheme(scheme: str) -> str:
    """Hadoop's scheme for the file system of a scheme."""
    return _S3A if scheme in S3_SCHEMES else scheme


def _is_known(jvm: Jvm, scheme: str) -> bool:
    """Whether the class path has a file system of the scheme, and the classes that it needs."""
    if scheme == "file":
        return True
    named, jobs = _hadoop_scheme(scheme), jvm.context._jsc
    return bool(jvm.constant(f"file system of {named}", lambda: _found(jvm, named, jobs.hadoopConfiguration())))


def _found(jvm: Jvm, scheme: str, configuration: JavaObject) -> bool:
    try:
        jvm.static(f"{_HADOOP}.fs.FileSystem", "getFileSystemClass")(scheme, configuration)
        for name in _REQUIRED_CLASSES.get(scheme, ()):
            jvm.java_class(name)
    except Py4JError:
        return False
    return True


def _is_first(jvm: Jvm, store: tuple[str, str], options: Mapping[str, str]) -> bool:
    """Whether no catalog with other options has used the store before."""
    scheme, name = store
    if scheme == "file":
        return True
    settings = hadoop_settings(options, [store])
    return bool(jvm.constant(f"settings of {_hadoop_scheme(scheme)}://{name}", lambda: settings) == settings)


def _remedy(jvm: Jvm, scheme: str) -> str:
    if scheme not in _JARS:
        return "Add its jar to Spark's class path."
    version = jvm.static(f"{_HADOOP}.util.VersionInfo", "getVersion")()
    artifact = f"{_HADOOP}:{_JARS[scheme]}:{version}"
    return f"Start Spark with 'spark.jars.packages' = '{artifact}', or with that jar and its dependencies."
