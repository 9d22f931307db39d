"""COPY INTO files: the rows of a table or query, written and counted at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from paimon_sql.errors import AlreadyExistsError, InvalidInputError
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.copy_into.formats import FileFormat
from paimon_sql.spark.copy_into.places import Place
from paimon_sql.spark.java import EXECUTION, Jvm
from paimon_sql.spark.reads_alone import reads_alone
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.statements.base import Surroundings
from paimon_sql.sql.names import string_sql
from paimon_sql.sql.statements.copy_into import CopyIntoLocation

_DDL = f"{EXECUTION}.command.DDLUtils"
_ROWS = "rows"


@dataclass(frozen=True)
class Unloaded:
    """What was written: where to, as the statement says it, into how many files, and how many rows."""

    path: str
    files: int
    rows: int


class UnloadRun:
    """One COPY INTO files.

    Args:
        statement: the statement.
        surroundings: where it is executed.
    """

    def __init__(self, statement: CopyIntoLocation, surroundings: Surroundings) -> None:
        self._statement = statement
        self._jvm: Jvm = surroundings.jvm
        self._session: Any = surroundings.session
        self._options = surroundings.catalog.options
        self._format = FileFormat(statement.file_format)
        self._analyzer = Analyzer(surroundings.jvm, surroundings.session, surroundings.catalog.name)

    def run(self) -> Unloaded:
        """Write the rows.

        Raises:
            AlreadyExistsError: something stands at the path, and OVERWRITE is not said; nothing was read.
            InvalidInputError: the query does more than read, or cannot be run.
        """
        statement = self._statement
        place = Place(self._jvm, self._session, statement.path, self._options)
        exists = place.exists()
        if exists:
            self._refuse_loss(place)
        rows = self._rows()
        counted = Observation()
        try:
            with one_error(f"The rows cannot be written to '{statement.path}'"):
                read = rows._jdf.queryExecution().analyzed()
                self._jvm.singleton(_DDL).verifyNotReadPath(read, place.path, self._jvm.none)
                self._check_formats()
                self._write(rows.observe(counted, f.count(f.lit(1)).alias(_ROWS)), place)
        except InvalidInputError:
            if not exists:
                place.remove_empty()
            raise
        files = sum(file.name.startswith("part-") for file in place.files())
        return Unloaded(statement.path, files, int(counted.get[_ROWS]))

    def _refuse_loss(self, place: Place) -> None:
        """Refuse to replace what stands there if it is not to be replaced, or if tables are."""
        path = self._statement.path
        if not self._statement.overwrite:
            raise AlreadyExistsError(
                f"'{path}' exists already.", name=path, remedy="OVERWRITE = TRUE replaces what stands there."
            )
        table = place.table()
        if table is not None:
            raise InvalidInputError(
                f"OVERWRITE = TRUE of '{path}' would delete files of the table {table}.",
                remedy="Copy into a folder beside the tables.",
            )

    def _check_formats(self) -> None:
        """Try the formats of dates and times on one value, before anything is deleted or written."""
        options = self._format.options()
        given = [text for key in ("dateFormat", "timestampFormat") if key in options for text in (key, options[key])]
        if given:
            said = ", ".join(map(string_sql, given))
            row = "named_struct('d', DATE'2000-01-01', 't', TIMESTAMP'2000-01-01 00:00:00')"
            self._analyzer.frame(self._analyzer.parse(f"SELECT to_json({row}, map({said}))")).collect()

    def _write(self, rows: DataFrame, place: Place) -> None:
        mode = "overwrite" if self._statement.overwrite else "errorifexists"
        writer = rows.write.format(self._format.source).options(**place.settings, **self._format.options())
        writer.mode(mode).save(place.text)

    def _rows(self) -> DataFrame:
        statement = self._statement
        text = statement.source if statement.is_query else f"SELECT * FROM {statement.source}"
        with one_error(f"COPY INTO '{statement.path}' cannot read its rows"):
            plan = self._analyzer.parse(text)
            if not reads_alone(self._jvm, plan):
                raise InvalidInputError(
                    f"COPY INTO '{statement.path}' copies the rows of a query that only reads.",
                    remedy="Write a SELECT in the brackets.",
                )
            return self._analyzer.frame(plan)
