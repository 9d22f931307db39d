"""Folders and files as Spark finds them: through Hadoop, by the options of the table's catalog or the session's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import IllegalArgumentException

from paimon_sql.errors import InvalidInputError, MissingFileError
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hadoop_files import check_reached, hadoop_settings, hadoop_text, has_settings
from paimon_sql.storage.copy.load_history import SourceFile
from paimon_sql.storage.file_io.paths import scheme_of, store_of, under_scheme

_HADOOP = "org.apache.hadoop.fs"
_GLOB = re.compile(r"([\\*?\[\]{}])")


def literal_path(path: str) -> str:
    """The path as a pattern that matches it alone, for whoever takes ``*?[]{}`` in a path for a pattern."""
    return _GLOB.sub(r"\\\1", path)


class Place:
    """A path that a statement names.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        path: the path, with or without a scheme.
        options: the options of the catalog that the statement is about. They say how a store is reached, unless the
            session has settings of that very bucket (``fs.s3a.bucket.<bucket>.*``) and they have none.

    Attributes:
        text: the path as Spark's readers and writers take it.
        settings: what these must be told of its file system.

    Raises:
        InvalidInputError: the text is no path, or its file system cannot be opened.
        SetupError: Spark has no such file system.
    """

    def __init__(self, jvm: Jvm, session: Any, path: str, options: Mapping[str, str]) -> None:
        self._jvm = jvm
        self._named = path
        self.text = hadoop_text(path)
        self.settings: dict[str, str] = {}
        with one_error(f"'{path}' is no path that can be used"):
            state = session.sessionState()
            written = jvm.new(f"{_HADOOP}.Path", self.text)
            if not has_settings(state.newHadoopConf(), path, options):
                check_reached(jvm, session, path, options, "COPY INTO")
                self.settings = hadoop_settings(options, [store_of(path)])
            configuration = state.newHadoopConfWithOptions(jvm.scala_map(jvm.java_map(self.settings)))
            self._file_system = written.getFileSystem(configuration)
            self._path = self._file_system.makeQualified(written)

    @property
    def path(self) -> Any:
        """The full path as Hadoop's ``Path``."""
        return self._path

    def exists(self) -> bool:
        """Whether anything stands there."""
        with one_error(f"'{self._named}' cannot be looked at"):
            return bool(self._file_system.exists(self._path))

    def remove_empty(self) -> None:
        """Remove the folder if it holds nothing."""
        if self.exists() and not self._file_system.listStatus(self._path):
            self._file_system.delete(self._path, False)

    def table(self) -> str | None:
        """A table of Paimon that stands there, above or in the two levels of folders below; None without any."""
        here = self._path
        patterns = [self._schemas(here, below) for below in ("", "*/", "*/*/")]
        while (here := here.getParent()) is not None:
            patterns.append(self._schemas(here, ""))
        for pattern in patterns:
            with one_error(f"'{self._named}' cannot be looked at"):
                found = self._file_system.globStatus(pattern)
            if found:
                return str(found[0].getPath().getParent().getParent().toString())
        return None

    def _schemas(self, folder: Any, below: str) -> Any:
        top = literal_path(folder.toString().rstrip("/"))
        return self._jvm.new(f"{_HADOOP}.Path", f"{top}/{below}schema/schema-*")

    def files(self, pattern: str | None = None) -> list[SourceFile]:
        """The files that stand in the folder itself, or the one file that the path names, sorted by name.

        Their paths begin with the scheme that the statement says, as other engines name them, too.

        Files whose names begin with ``_`` or ``.`` are not listed: Spark takes none of them for data.

        Args:
            pattern: a regular expression of Java that must be found in the name of a file.

        Raises:
            InvalidInputError: the pattern is none.
            MissingFileError: nothing stands there.
        """
        wanted = self._matcher(pattern)
        statuses = [s for s in self._list() if s.isFile()]
        files = [SourceFile(self._as_said(s.getPath()), s.getLen(), s.getModificationTime()) for s in statuses]
        found = (f for f in files if not f.name.startswith(("_", ".")) and (wanted is None or wanted(f.name)))
        return sorted(found, key=lambda f: f.name)

    def _as_said(self, path: Any) -> str:
        text = str(path.toString())
        return text if self.text == self._named else under_scheme(text, scheme_of(self._named))

    def _list(self) -> Any:
        if self.exists():
            with one_error(f"'{self._named}' cannot be listed"):
                return self._file_system.listStatus(self._path)
        raise MissingFileError(f"There is no file or folder '{self._named}' to copy from.", path=self._named)

    def _matcher(self, pattern: str | None) -> Any:
        if pattern is None:
            return None
        try:
            compiled = self._jvm.cls("java.util.regex.Pattern").compile(pattern)
        except (Py4JJavaError, IllegalArgumentException) as error:
            thrown = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
            raise InvalidInputError(
                f"PATTERN = '{pattern}' is no regular expression: {thrown.getDescription()}.",
                remedy="It is searched for in the names of files, such as '.*\\.csv'.",
            ) from None
        return lambda name: bool(compiled.matcher(name).find())
