"""A session with a catalog of a server that knows what newer versions know, and what that server holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.newer_rest import NewerRest

Sql = Callable[[str], list[tuple[Any, ...]]]


class Lake:
    """A session with a catalog ``lake`` of a server, in a database of the test's own."""

    def __init__(self, sql: Sql, server: NewerRest, database: str) -> None:
        self._sql, self._server, self.database = sql, server, database

    def __call__(self, text: str) -> list[tuple[Any, ...]]:
        return self._sql(text)

    def figures(self, table: str) -> dict[str, tuple[int, int]]:
        """The rows and files of each partition as the server holds them; -1 for what it does not know."""
        register = self._server.registers.get(f"{self.database}.{table}", {})
        return {
            ", ".join(f"{key}={value}" for key, value in spec): (known["recordCount"], known["fileCount"])
            for spec, known in register.items()
        }

    def registered(self, table: str) -> list[str]:
        """The partitions that the server holds."""
        return sorted(self.figures(table))

    def folder(self, table: str) -> Path:
        """Where a table stands."""
        (place,) = [row[1] for row in self(f"DESCRIBE EXTENDED {table}") if row[0] == "Location"]
        return Path(str(place).removeprefix("file:"))

    def put(self, table: str, partition: str, name: str, text: str) -> None:
        """Write a file as any other program does."""
        folder = self.folder(table) / partition
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def tell_rights(self, table: str, *filters: object, **masks: object) -> None:
        """Let the server show only what conditions and masks say, each given as JSON has it."""
        said = [json.dumps(f) for f in filters] + [f"{column}={json.dumps(m)}" for column, m in masks.items()]
        self._server.java("rights", f"{self.database}.{table}", *said)


@contextmanager
def opened(sql: Sql, server: NewerRest) -> Iterator[Lake]:
    """The catalog, which is current."""
    said = ", ".join(f"'{key}' = '{value}'" for key, value in server.options.items())
    sql(f"CREATE CATALOG lake WITH ('type' = 'paimon', {said})")
    database = server.new_name()
    sql(f"CREATE DATABASE lake.{database}")
    sql(f"USE lake.{database}")
    yield Lake(sql, server, database)
    sql("USE paimon.default")
    sql(f"DROP DATABASE lake.{database} CASCADE")
    sql("DROP CATALOG lake")
