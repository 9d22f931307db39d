"""COPY INTO a table: files are listed, validated, written in one commit, and recorded in the load history."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import InvalidInputError, PaimonError, UnsupportedError
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.text.instants import current_millis
from paimon_sql.spark.conversion.types import default_sql, row_struct
from paimon_sql.spark.copy_into.files import FileFormat, Location
from paimon_sql.spark.copy_into.rows import FileRows, SourceRows
from paimon_sql.spark.execution.carried_statement import StatementContext
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import session_options
from paimon_sql.spark.write.job import run_write
from paimon_sql.sql.statements.copy_into import CopyIntoTable
from paimon_sql.sql.text.names import quote_name, quote_path
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.copy.load_history import FilesLoadedError, LoadHistory, SourceFile
from paimon_sql.storage.table.table import Table


def inserted_rows(session: JvmSession, table: Sequence[str], rows: DataFrame) -> DataFrame:
    """Convert rows to the columns and types of a table, like ``INSERT INTO .. BY NAME``.

    Args:
        session: the session.
        table: the parts of the table's name.
        rows: the rows.

    Raises:
        AnalysisException: Spark refuses to write such rows into the table.
    """
    view = f"__paimon_rows_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        name = quote_path(table)
        parsed = session.parsed(f"INSERT INTO {name} BY NAME SELECT * FROM {view}")
        return session.frame(session.execution(parsed).analyzed().query())
    finally:
        session.python.catalog.dropTempView(view)


_ATTEMPTS = 5
Status = Literal["LOADED", "PARTIALLY_LOADED", "LOAD_FAILED", "SKIPPED"]
_NO_ROWS = FileRows()


@dataclass(frozen=True)
class FileLoad:
    """The result of one file; ``loaded`` is the number of its rows that were loaded."""

    file: SourceFile
    status: Status
    loaded: int = 0
    rows: FileRows = _NO_ROWS


class LoadRun:
    """The execution of one COPY INTO a table.

    The files are read twice: first to count rows and find errors, then to write the valid rows. Nothing is cached in
    between, and nothing is written before all files are validated.

    Args:
        statement: the statement.
        context: the statement context.
    """

    def __init__(self, statement: CopyIntoTable, context: StatementContext) -> None:
        self._statement = statement
        self._context = context
        self._session = context.session
        self._format = FileFormat(statement.file_format)
        self._table = self._open_table()
        self._targets = self._columns()
        self._place = Location(self._session, statement.path, context.catalog.options)

    def run(self) -> list[FileLoad]:
        """Load the files that are not loaded yet; skipped files come last in the result.

        Raises:
            InvalidInputError: the files cannot be loaded into the table; nothing was written.
            MissingFileError: there are no such files.
        """
        for _ in range(_ATTEMPTS - 1):
            with suppress(FilesLoadedError):  # a concurrent statement loaded files; the next attempt skips them
                return self._run()
        return self._run()

    def _run(self) -> list[FileLoad]:
        files = self._place.files(self._statement.pattern)
        history = LoadHistory(self._table)
        history.finish()
        known = set() if self._statement.force else history.loaded(files)
        loads = self._load_files([file for file in files if file not in known], history)
        return [*loads, *(FileLoad(file, "SKIPPED") for file in files if file in known)]

    def _load_files(self, files: Sequence[SourceFile], history: LoadHistory) -> list[FileLoad]:
        if not files:
            return []
        source = self._source(files)
        counted = source.counted()
        loads = [self._result(file, counted.get(file.name, _NO_ROWS)) for file in files]
        if self._statement.on_error == "ABORT_STATEMENT":
            self._refuse_errors(loads)
        to_write = [load.file for load in loads if load.loaded]
        recorded = [(load.file, load.loaded) for load in loads if load.status != "LOAD_FAILED"]
        if to_write:
            self._write(source if to_write == list(files) else self._source(to_write), history, recorded)
        elif recorded:  # files without rows
            history.record(recorded, self._table.snapshots.latest_id() or 0, current_millis())
        return loads

    def _result(self, file: SourceFile, rows: FileRows) -> FileLoad:
        """The result of a file with these rows, by the option ON_ERROR."""
        if not rows.errors:
            return FileLoad(file, "LOADED", rows.parsed, rows)
        if self._statement.on_error == "CONTINUE" and rows.good:
            return FileLoad(file, "PARTIALLY_LOADED", rows.good, rows)
        return FileLoad(file, "LOAD_FAILED", 0, rows)

    def _refuse_errors(self, loads: Sequence[FileLoad]) -> None:
        bad = [load for load in loads if load.rows.errors]
        if bad:
            count = sum(load.rows.errors for load in bad)
            rows = f"{count} rows" if count > 1 else "1 row"
            raise InvalidInputError(
                f"{rows} in {len(bad)} of {len(loads)} files cannot be loaded into {self._table.name}; nothing was"
                f" loaded. {bad[0].file.name}: {bad[0].rows.first_error}.",
                remedy="Use ON_ERROR = CONTINUE to skip such rows, or ON_ERROR = SKIP_FILE to skip their files.",
            )

    def _source(self, files: Sequence[SourceFile]) -> SourceRows:
        options = {**self._place.settings, **self._format.options()}
        reader = self._session.python.read
        return SourceRows(
            reader, self._format, options, files, self._targets, case_sensitive=self._session.case_sensitive
        )

    def _write(self, source: SourceRows, history: LoadHistory, loads: Sequence[tuple[SourceFile, int]]) -> None:
        """Append the valid rows like any INSERT; the same commit marks the files as loaded."""
        pending = history.prepared(loads)
        with Transaction(self._table, properties=pending.properties) as transaction:
            transaction.attach(pending.path)
            if not self._statement.force:
                transaction.require(history.not_loaded([file for file, _ in loads]))
            with one_error(f"The files cannot be loaded into {self._table.name}"):
                rows = inserted_rows(self._session, self._statement.table, self._completed(source.good()))
                run_write(self._session.jvm, transaction, rows, None)
        with suppress(PaimonError):  # otherwise the next load finishes the history
            history.finish()

    def _completed(self, rows: DataFrame) -> DataFrame:
        """Add the default values of columns that the statement does not name."""
        given = {target.name for target in self._targets}
        others = [field for field in self._table.schema.fields if field.name not in given]
        types = StructType.fromJson(row_struct(others))
        defaults = {
            field.name: f.expr(default_sql(field) or "NULL").cast(kind.dataType)
            for field, kind in zip(others, types.fields, strict=True)
        }
        names = self._table.schema.names
        return rows.select(*(defaults[n].alias(n) if n in defaults else f.col(quote_name(n)) for n in names))

    def _columns(self) -> list[DataField]:
        """The table's columns that the files contain.

        Raises:
            InvalidInputError: the named columns are not valid.
        """
        fields, names = self._table.schema.fields, self._statement.columns
        if not names:
            return list(fields)
        key = str if self._session.case_sensitive else str.lower
        known = {key(field.name): field for field in fields}
        targets: list[DataField] = []
        for name in names:
            field = known.get(key(name))
            if field is None:
                raise InvalidInputError(
                    f"{self._table.name} has no column {name}.",
                    remedy=f"Its columns are {', '.join(self._table.schema.names)}.",
                )
            if field in targets:
                raise InvalidInputError(f"COPY INTO {self._table.name} specifies column {name} twice.")
            targets.append(field)
        for field in fields:
            if field not in targets and not field.type.nullable and field.default is None:
                raise InvalidInputError(
                    f"Column {field.name} of {self._table.name} is NOT NULL, has no default value and is not listed.",
                    remedy="Add it to the column list.",
                )
        return targets

    def _open_table(self) -> Table:
        catalog = self._context.catalog
        identifier = self._context.identifier(self._statement.table)
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table and cannot be written to.")
        options = session_options(self._session, catalog.name, identifier)
        return with_branch(writable(catalog.table(identifier)), options.get(BRANCH.key))
