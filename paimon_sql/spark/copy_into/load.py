"""COPY INTO a table: files found, looked through, written in one commit, and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.errors import InvalidInputError, PaimonError, UnsupportedError
from paimon_sql.format.options.table import BRANCH
from paimon_sql.format.types import DataField
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.copy_into.formats import FileFormat
from paimon_sql.spark.copy_into.places import Place
from paimon_sql.spark.copy_into.rows import FileRows, SourceRows
from paimon_sql.spark.defaults import default_sql
from paimon_sql.spark.inserted_rows import inserted_rows
from paimon_sql.spark.session_options import session_options
from paimon_sql.spark.statements.base import Surroundings
from paimon_sql.spark.types import row_struct
from paimon_sql.spark.write_job import run_write
from paimon_sql.sql.names import quote_name
from paimon_sql.sql.statements.copy_into import CopyIntoTable
from paimon_sql.storage.branching import on_its_branch
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.instants import present_millis
from paimon_sql.storage.load_history import FilesLoadedError, LoadHistory, SourceFile
from paimon_sql.storage.table import Table

_ATTEMPTS = 5
Status = Literal["LOADED", "PARTIALLY_LOADED", "LOAD_FAILED", "SKIPPED"]
_NO_ROWS = FileRows()


@dataclass(frozen=True)
class FileLoad:
    """What became of one file; ``loaded`` is how many of its rows are in the table."""

    file: SourceFile
    status: Status
    loaded: int = 0
    rows: FileRows = _NO_ROWS


class LoadRun:
    """One COPY INTO a table.

    The files are read twice, first to count their rows and to find what is wrong with them, then to write what is
    right: nothing is kept of them in between, and nothing is written before all of them are known.

    Args:
        statement: the statement.
        surroundings: where it is executed.
    """

    def __init__(self, statement: CopyIntoTable, surroundings: Surroundings) -> None:
        self._statement = statement
        self._surroundings = surroundings
        self._spark = SparkSession(surroundings.jvm.context, surroundings.session)
        self._format = FileFormat(statement.file_format)
        self._exact = bool(surroundings.session.sessionState().conf().caseSensitiveAnalysis())
        self._table = self._found_table()
        self._targets = self._columns()
        self._place = Place(surroundings.jvm, surroundings.session, statement.path, surroundings.catalog.options)

    def run(self) -> list[FileLoad]:
        """Load what is not loaded yet; files that were passed over come last.

        Raises:
            InvalidInputError: the files cannot be loaded into the table; nothing was.
            MissingFileError: there are no such files.
        """
        for _ in range(_ATTEMPTS - 1):
            with suppress(FilesLoadedError):  # then those files are passed over
                return self._run()
        return self._run()

    def _run(self) -> list[FileLoad]:
        files = self._place.files(self._statement.pattern)
        history = LoadHistory(self._table)
        history.finish()
        known = set() if self._statement.force else history.loaded(files)
        loads = self._loaded([file for file in files if file not in known], history)
        return [*loads, *(FileLoad(file, "SKIPPED") for file in files if file in known)]

    def _loaded(self, files: Sequence[SourceFile], history: LoadHistory) -> list[FileLoad]:
        if not files:
            return []
        source = self._source(files)
        counted = source.counted()
        loads = [self._load(file, counted.get(file.name, _NO_ROWS)) for file in files]
        if self._statement.on_error == "ABORT_STATEMENT":
            self._refuse_errors(loads)
        wanted = [load.file for load in loads if load.loaded]
        done = [(load.file, load.loaded) for load in loads if load.status != "LOAD_FAILED"]
        if wanted:
            self._write(source if wanted == list(files) else self._source(wanted), history, done)
        elif done:  # files without rows
            history.record(done, self._table.snapshots.latest_id() or 0, present_millis())
        return loads

    def _load(self, file: SourceFile, rows: FileRows) -> FileLoad:
        """What becomes of a file with such rows."""
        if not rows.errors:
            return FileLoad(file, "LOADED", rows.parsed, rows)
        if self._statement.on_error == "CONTINUE" and rows.good:
            return FileLoad(file, "PARTIALLY_LOADED", rows.good, rows)
        return FileLoad(file, "LOAD_FAILED", 0, rows)

    def _refuse_errors(self, loads: Sequence[FileLoad]) -> None:
        bad = [load for load in loads if load.rows.errors]
        if bad:
            count = sum(load.rows.errors for load in bad)
            told = f"{count} rows" if count > 1 else "1 row"
            raise InvalidInputError(
                f"{told} in {len(bad)} of {len(loads)} files cannot be loaded into {self._table.name}, and nothing was."
                f" {bad[0].file.name}: {bad[0].rows.first_error}.",
                remedy="ON_ERROR = CONTINUE leaves such rows out, ON_ERROR = SKIP_FILE their files.",
            )

    def _source(self, files: Sequence[SourceFile]) -> SourceRows:
        options = {**self._place.settings, **self._format.options()}
        return SourceRows(self._spark, self._format, options, files, self._targets, case_sensitive=self._exact)

    def _write(self, source: SourceRows, history: LoadHistory, loads: Sequence[tuple[SourceFile, int]]) -> None:
        """Append the good rows, in the same way as any INSERT; the files count as loaded with the same commit."""
        jvm, session = self._surroundings.jvm, self._surroundings.session
        pending = history.prepared(loads)
        with Transaction(self._table, properties=pending.properties) as transaction:
            transaction.attach(pending.path)
            if not self._statement.force:
                transaction.require(history.not_loaded([file for file, _ in loads]))
            with one_error(f"The files cannot be loaded into {self._table.name}"):
                rows = inserted_rows(jvm, session, self._statement.table, self._completed(source.good()))
                run_write(jvm, transaction, rows, None)
        with suppress(PaimonError):  # what is left over, the next load turns into records
            history.finish()

    def _completed(self, rows: DataFrame) -> DataFrame:
        """The rows with the default values of columns that the statement does not name."""
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
        """The table's columns that the files hold."""
        fields = self._table.schema.fields
        names = self._statement.columns
        if not names:
            return list(fields)
        known = {self._key(field.name): field for field in fields}
        targets: list[DataField] = []
        for name in names:
            field = known.get(self._key(name))
            if field is None:
                raise InvalidInputError(
                    f"{self._table.name} has no column {name}.",
                    remedy=f"Its columns are {', '.join(self._table.schema.names)}.",
                )
            if field in targets:
                raise InvalidInputError(f"COPY INTO {self._table.name} names column {name} twice.")
            targets.append(field)
        for field in fields:
            if field not in targets and not field.type.nullable and field.default is None:
                raise InvalidInputError(
                    f"Column {field.name} of {self._table.name} is NOT NULL, has no default value and is not named.",
                    remedy="Name it in the list of columns.",
                )
        return targets

    def _key(self, name: str) -> str:
        return name if self._exact else name.lower()

    def _found_table(self) -> Table:
        catalog = self._surroundings.catalog
        identifier = self._surroundings.identifier(self._statement.table)
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table, into which nothing can be written.")
        options = session_options(self._surroundings.jvm, self._surroundings.session, catalog.name, identifier)
        return on_its_branch(taking_rows(catalog.table(identifier)), options.get(BRANCH.key))
