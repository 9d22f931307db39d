"""The input of a run: tables as Parquet files, what upserts bring, and the queries; all that engines need to know."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

UPSERTS = 3
UPSERT_PERCENT = 4


@dataclass(frozen=True)
class InputTable:
    """One table: its columns as they stand in ``CREATE TABLE``, its primary key and how many rows it has."""

    name: str
    columns: str
    key: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Input:
    """A generated data set.

    Attributes:
        folder: where it is.
    """

    folder: Path

    def rows(self, table: str) -> Path:
        """The folder of a table's rows."""
        return self.folder / "rows" / table

    def stale(self, table: str) -> Path:
        """The folder of the same keys before the upserts: rows that these will bring have other values."""
        return self.folder / "stale" / table

    def changes(self, table: str, upsert: int) -> Path:
        """The folder of what an upsert brings; after the last one each key has the values that it has in `rows`."""
        return self.folder / f"changes-{upsert}" / table

    def query(self, number: int) -> str:
        """The text of a query, in Spark's dialect."""
        return self._query_file(number).read_text()

    @property
    def tables_file(self) -> Path:
        """What the tables are; it is written last, so a data set that has it is whole."""
        return self.folder / "tables.json"

    def tables(self) -> list[InputTable]:
        """The tables."""
        found = json.loads(self.tables_file.read_text())
        return [InputTable(**(table | {"key": tuple(table["key"])})) for table in found]

    def write_query(self, number: int, text: str) -> None:
        """Keep the text of a query."""
        path = self._query_file(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_tables(self, tables: Sequence[InputTable]) -> None:
        """Say what the tables are, once all else is there."""
        self.tables_file.write_text(json.dumps([asdict(table) for table in tables], indent=1))

    def _query_file(self, number: int) -> Path:
        return self.folder / "queries" / f"{number}.sql"
