"""``sys.procedures``: the stored procedures."""

from __future__ import annotations

from dataclasses import asdict

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class Procedures(CatalogTable):
    """What `SHOW PROCEDURES` and `DESCRIBE PROCEDURE` say one by one."""

    name = "procedures"
    summary = "One row per stored procedure."
    columns = (
        column("name", string_type(False), "the procedure, called as CALL sys.name(..)"),
        column("arguments", string_type(False), "its arguments in their order, with their types"),
        column("results", string_type(False), "the columns of its answer, with their types"),
        column("summary", string_type(False), "what it does"),
        column("example", string_type(False), "a call"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return pa.Table.from_pylist([asdict(p) for p in view.procedures], schema=arrow_schema(self.columns))
