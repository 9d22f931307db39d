"""COPY INTO tables and files."""

from __future__ import annotations

from paimon_sql.format.schema.types import BigIntType, DataField, IntType, string_type
from paimon_sql.spark.copy_into.load import LoadRun
from paimon_sql.spark.copy_into.unload import UnloadRun
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.statements.copy_into import CopyIntoLocation, CopyIntoTable

_LOADED = (
    DataField(-1, "file_name", string_type(False)),
    DataField(-1, "status", string_type(False)),
    DataField(-1, "rows_loaded", BigIntType(False)),
    DataField(-1, "rows_parsed", BigIntType(False)),
    DataField(-1, "errors_seen", BigIntType(False)),
    DataField(-1, "first_error", string_type()),
)
_UNLOADED = (
    DataField(-1, "output_path", string_type(False)),
    DataField(-1, "file_count", IntType(False)),
    DataField(-1, "rows_written", BigIntType(False)),
)


class RunCopyIntoTable(Runner[CopyIntoTable]):
    """COPY INTO a table FROM files; the result has one row per file."""

    def run(self, statement: CopyIntoTable, context: StatementContext) -> Answer:
        loads = LoadRun(statement, context).run()
        rows = [
            (ld.file.name, ld.status, ld.loaded, ld.rows.parsed, ld.rows.errors, ld.rows.first_error) for ld in loads
        ]
        return Answer(_LOADED, rows)


class RunCopyIntoLocation(Runner[CopyIntoLocation]):
    """COPY INTO files FROM a table or query; the result has one row."""

    def run(self, statement: CopyIntoLocation, context: StatementContext) -> Answer:
        return Answer(_UNLOADED, [UnloadRun(statement, context).run()])
