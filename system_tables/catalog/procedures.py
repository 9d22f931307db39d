"""``sys.procedures``: the stored procedures."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.system_tables.whole_catalog import CatalogTable, Offered, View


class Procedures(CatalogTable):
    """What `SHOW PROCEDURES` and `DESCRIBE PROCEDURE` say one by one."""

    summary = "One row per stored procedure."

    Row = Offered

    def records(self, view: View) -> Iterable[Offered]:
        return view.procedures
