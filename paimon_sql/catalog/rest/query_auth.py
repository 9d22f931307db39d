"""What a server says of the rows and values of a table that are shown (spec: REST API, ``auth``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.storage.metadata.environment.query_auth import Guard, Rights


@dataclass(frozen=True)
class RestGuard(Guard):
    """The rights to one table.

    Attributes:
        client: the server.
        table: the path of the table.
    """

    client: RestClient
    table: tuple[str, ...]

    def rights(self, columns: Sequence[str]) -> Rights:
        said = self.client.post(*self.table, "auth", body={"select": list(columns)})
        filters, masks = said.get("filter") or [], said.get("columnMasking") or {}
        return Rights.read([str(f) for f in filters], {str(c): str(m) for c, m in masks.items()})
