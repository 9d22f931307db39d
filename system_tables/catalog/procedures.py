"""``sys.procedures``: the stored procedures."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.system_tables.base import CatalogTable, ProcedureInfo, RecordTable, View


class Procedures(RecordTable[View], CatalogTable):
    """Same as `SHOW PROCEDURES` and `DESCRIBE PROCEDURE`, for all procedures."""

    summary = "One row per stored procedure."

    Row = ProcedureInfo

    def records(self, view: View) -> Iterable[ProcedureInfo]:
        return view.procedures
