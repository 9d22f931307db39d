"""File systems as Hadoop knows them, through which Spark's own readers open a table's files."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from py4j.protocol import Py4JJavaError

from paimon_sql.spark.java import Jvm
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import scheme_of
from paimon_sql.storage.file_io.s3 import S3Settings, s3_options
from paimon_sql.storage.scan.plan import ScanPlan

_S3A = "s3a"
_S3 = ("s3", "s3n")


def reads(jvm: Jvm, plan: ScanPlan) -> bool:
    """Whether Hadoop has a file system for every file of a plan: that for S3 is a jar which a stock Spark has not."""
    return all(_is_known(jvm, scheme) for scheme in plan.schemes)


def hadoop_url(path: str) -> str:
    """A path with a scheme as a URL, under the scheme by which Hadoop knows its file system."""
    scheme = scheme_of(path)
    return (_S3A if scheme in _S3 else scheme) + quote(path[len(scheme) :], safe="/:@")


def hadoop_settings(file_io: FileIO) -> Mapping[str, str]:
    """What a catalog's options say of its object store, in Hadoop's words."""
    options = file_io.options
    settings = {key: value for key, value in options.items() if key.startswith("fs.")}
    given = s3_options(options)
    if given:
        known = S3Settings(options)
        settings |= {f"fs.s3a.{name}": value for name, value in given.items()}
        settings["fs.s3a.path.style.access"] = str(known.has_paths).lower()
        if known.region:
            settings["fs.s3a.endpoint.region"] = known.region
    return settings


def _is_known(jvm: Jvm, scheme: str) -> bool:
    if scheme == "file":
        return True
    return bool(jvm.constant(f"file system of {scheme}", lambda: _found(jvm, _S3A if scheme in _S3 else scheme)))


def _found(jvm: Jvm, scheme: str) -> bool:
    configuration = jvm.context._jsc.hadoopConfiguration()
    try:
        jvm.static("org.apache.hadoop.fs.FileSystem", "getFileSystemClass")(scheme, configuration)
    except Py4JJavaError:
        return False
    return True
