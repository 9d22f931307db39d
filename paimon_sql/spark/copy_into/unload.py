"""COPY INTO files: the rows of a table or query are written, and counted in the same job."""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from paimon_sql.errors import AlreadyExistsError, InvalidInputError
from paimon_sql.spark.copy_into.files import FileFormat, Location
from paimon_sql.spark.execution.carried_statement import StatementContext, is_read_only
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.jvm.gateway import EXECUTION
from paimon_sql.sql.statements.copy_into import CopyIntoLocation
from paimon_sql.sql.text.names import string_sql

_DDL = f"{EXECUTION}.command.DDLUtils"
_ROWS = "rows"


class UnloadRun:
    """The execution of one COPY INTO files.

    Args:
        statement: the statement.
        context: the statement context.
    """

    def __init__(self, statement: CopyIntoLocation, context: StatementContext) -> None:
        self._statement = statement
        self._session = context.session
        self._options = context.catalog.options
        self._format = FileFormat(statement.file_format)

    def run(self) -> tuple[str, int, int]:
        """Write the rows; return the statement's path, and the numbers of files and rows.

        Raises:
            AlreadyExistsError: the path exists, and OVERWRITE is not set; nothing was read.
            InvalidInputError: the query does not only read, or cannot be executed.
        """
        statement, jvm = self._statement, self._session.jvm
        location = Location(self._session, statement.path, self._options)
        exists = location.exists()
        if exists:
            self._refuse_loss(location)
        rows = self._rows()
        counted = Observation()
        try:
            with one_error(f"The rows cannot be written to '{statement.path}'"):
                read = rows._jdf.queryExecution().analyzed()
                jvm.singleton(_DDL).verifyNotReadPath(read, location.path, jvm.none)
                self._check_formats()
                self._write(rows.observe(counted, f.count(f.lit(1)).alias(_ROWS)), location)
        except InvalidInputError:
            if not exists:
                location.remove_empty()
            raise
        files = sum(file.name.startswith("part-") for file in location.files())
        return statement.path, files, int(counted.get[_ROWS])

    def _refuse_loss(self, location: Location) -> None:
        """Raise if OVERWRITE is not set, or would delete files of a table."""
        path = self._statement.path
        if not self._statement.overwrite:
            raise AlreadyExistsError(
                f"'{path}' exists already.", name=path, remedy="Use OVERWRITE = TRUE to replace it."
            )
        table = location.table()
        if table is not None:
            raise InvalidInputError(
                f"OVERWRITE = TRUE of '{path}' would delete files of the table {table}.",
                remedy="Copy into a directory outside of tables.",
            )

    def _check_formats(self) -> None:
        """Validate the formats of dates and times by formatting one value, before anything is deleted or written."""
        options = self._format.options()
        given = [value for key in ("dateFormat", "timestampFormat") if key in options for value in (key, options[key])]
        if given:
            arguments = ", ".join(map(string_sql, given))
            row = "named_struct('d', DATE'2000-01-01', 't', TIMESTAMP'2000-01-01 00:00:00')"
            self._session.frame(self._session.parsed(f"SELECT to_json({row}, map({arguments}))")).collect()

    def _write(self, rows: DataFrame, location: Location) -> None:
        mode = "overwrite" if self._statement.overwrite else "errorifexists"
        writer = rows.write.format(self._format.kind).options(**location.settings, **self._format.options())
        writer.mode(mode).save(location.text)

    def _rows(self) -> DataFrame:
        statement = self._statement
        text = statement.source if statement.is_query else f"SELECT * FROM {statement.source}"
        with one_error(f"COPY INTO '{statement.path}' cannot read its rows"):
            plan = self._session.parsed(text)
            if not is_read_only(self._session.jvm, plan):
                raise InvalidInputError(
                    f"COPY INTO '{statement.path}' requires a query that only reads.",
                    remedy="Write a SELECT in the parentheses.",
                )
            return self._session.frame(plan)
