"""Files of COPY INTO: their paths, through Hadoop's file systems, and the options of FILE_FORMAT as Spark's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import IllegalArgumentException

from paimon_sql.errors import InvalidInputError, MissingFileError
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.jvm.hadoop_files import check_reachable, hadoop_path_string, hadoop_settings, has_settings
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.sql.statements.copy_into import Value
from paimon_sql.storage.copy.load_history import SourceFile
from paimon_sql.storage.file_io.paths import scheme_of, store_of, under_scheme

_HADOOP = "org.apache.hadoop.fs"
_GLOB = re.compile(r"([\\*?\[\]{}])")


def literal_path(path: str) -> str:
    """Escape ``*?[]{}`` in a path, for readers that take paths as glob patterns."""
    return _GLOB.sub(r"\\\1", path)


class Location:
    """A path of a statement.

    Args:
        session: the session.
        path: the path, with or without a scheme.
        options: the options of the statement's catalog. They configure the object store, unless only the session has
            settings of that bucket (``fs.s3a.bucket.<bucket>.*``).

    Attributes:
        text: the path for Spark's readers and writers.
        settings: their options for its file system.
        path: the full path as Hadoop's ``Path``.

    Raises:
        InvalidInputError: the path is invalid, or its file system cannot be opened.
        SetupError: Spark has no such file system.
    """

    def __init__(self, session: JvmSession, path: str, options: Mapping[str, str]) -> None:
        jvm, state = session.jvm, session.state
        self._jvm = jvm
        self._given = path
        self.text = hadoop_path_string(path)
        self.settings: dict[str, str] = {}
        with one_error(f"'{path}' is not a valid path"):
            given = jvm.new(f"{_HADOOP}.Path", self.text)
            if not has_settings(state.newHadoopConf(), path, options):
                check_reachable(session, path, options, "COPY INTO")
                self.settings = hadoop_settings(options, [store_of(path)])
            configuration = state.newHadoopConfWithOptions(jvm.scala_map(jvm.java_map(self.settings)))
            self._file_system: JavaObject = given.getFileSystem(configuration)
            self.path: JavaObject = self._file_system.makeQualified(given)

    def exists(self) -> bool:
        """Whether the path exists."""
        with one_error(f"'{self._given}' cannot be accessed"):
            return bool(self._file_system.exists(self.path))

    def remove_empty(self) -> None:
        """Remove the directory if it is empty."""
        if self.exists() and not self._file_system.listStatus(self.path):
            self._file_system.delete(self.path, False)

    def table(self) -> str | None:
        """The path of a Paimon table here, in a parent, or in the two levels of directories below; None without any."""
        directory = self.path
        patterns = [self._schemas(directory, below) for below in ("", "*/", "*/*/")]
        while (directory := directory.getParent()) is not None:
            patterns.append(self._schemas(directory, ""))
        for pattern in patterns:
            with one_error(f"'{self._given}' cannot be accessed"):
                found = self._file_system.globStatus(pattern)
            if found:
                return str(found[0].getPath().getParent().getParent().toString())
        return None

    def _schemas(self, directory: JavaObject, below: str) -> JavaObject:
        top = literal_path(str(directory.toString()).rstrip("/"))
        return self._jvm.new(f"{_HADOOP}.Path", f"{top}/{below}schema/schema-*")

    def files(self, pattern: str | None = None) -> list[SourceFile]:
        """The files directly in the directory, or the one file of the path, sorted by name.

        Their paths have the scheme of the statement's path, since other engines record them with it as well. Files with
        names that begin with ``_`` or ``.`` are not listed, since Spark does not read them as data.

        Args:
            pattern: a regular expression of Java; a file is listed if its name contains a match.

        Raises:
            InvalidInputError: the pattern is invalid.
            MissingFileError: the path does not exist.
        """
        matches = self._matcher(pattern)
        if not self.exists():
            raise MissingFileError(f"There is no file or directory '{self._given}' to copy from.", path=self._given)
        with one_error(f"'{self._given}' cannot be listed"):
            statuses: Iterable[JavaObject] = self._file_system.listStatus(self.path)
        files = (
            SourceFile(self._with_scheme(s.getPath()), int(s.getLen()), int(s.getModificationTime()))
            for s in statuses
            if s.isFile()
        )
        found = (f for f in files if not f.name.startswith(("_", ".")) and (matches is None or matches(f.name)))
        return sorted(found, key=lambda f: f.name)

    def _with_scheme(self, path: JavaObject) -> str:
        text = str(path.toString())
        return text if self.text == self._given else under_scheme(text, scheme_of(self._given))

    def _matcher(self, pattern: str | None) -> Callable[[str], bool] | None:
        if pattern is None:
            return None
        try:
            compiled = self._jvm.cls("java.util.regex.Pattern").compile(pattern)
        except (Py4JJavaError, IllegalArgumentException) as error:
            thrown: JavaObject = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
            raise InvalidInputError(
                f"PATTERN = '{pattern}' is not a valid regular expression: {thrown.getDescription()}.",
                remedy="File names must contain a match of it; an example is '.*\\.csv'.",
            ) from None
        return lambda name: bool(compiled.matcher(name).find())


_SPARK = {
    "FIELD_DELIMITER": "sep",
    "QUOTE": "quote",
    "ESCAPE": "escape",
    "HEADER": "header",
    "MULTI_LINE": "multiLine",
    "COMPRESSION": "compression",
    "DATE_FORMAT": "dateFormat",
    "TIMESTAMP_FORMAT": "timestampFormat",
}
_FLAGS = frozenset({"HEADER", "MULTI_LINE", "COMPRESSION"})


class FileFormat:
    """The file format of a statement.

    Args:
        given: the validated options of FILE_FORMAT.

    Attributes:
        kind: Spark's name of the format.
    """

    def __init__(self, given: Mapping[str, Value]) -> None:
        self._given = given
        self.kind = str(given["TYPE"]).lower()

    def options(self) -> dict[str, str]:
        """The options of Spark's reader or writer."""
        found = {
            _SPARK[key]: str(value).lower() if key in _FLAGS else str(value)
            for key, value in self._given.items()
            if key in _SPARK
        }
        if "SKIP_HEADER" in self._given:
            found["header"] = str(self._given["SKIP_HEADER"] == "1").lower()
        return found

    def nulls(self) -> tuple[str, ...]:
        """The strings that are read as NULL."""
        values = self._given.get("NULL_IF", ())
        empty = ("",) if self._given.get("EMPTY_FIELD_AS_NULL") == "TRUE" else ()
        return (*values, *empty)
