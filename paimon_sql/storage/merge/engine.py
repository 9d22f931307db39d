"""Merge engines: what is left of the rows of one key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import TableSchema
from paimon_sql.storage.merge.order import Indices
from paimon_sql.storage.merge.windows import Window


class MergeEngine(ABC):
    """Reduces the rows of each key to one.

    ``name`` is the value of the option ``merge-engine``. The result of `merge` has the columns of the window, the kind
    of row among them; deletes stay in it, for whoever reads drops them and whoever compacts must keep them.
    """

    name: ClassVar[str]

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema

    @abstractmethod
    def merge(self, window: Window) -> pa.Table:
        """One row a key, in the order of the keys."""

    def needs(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The columns that must be read to tell these; by default just these."""
        return columns


class SelectingEngine(MergeEngine):
    """An engine whose result is one of the rows of each key, unchanged."""

    @abstractmethod
    def select(self, window: Window) -> Indices:
        """The row number of the row that is left of each key, in the order of the keys."""

    def merge(self, window: Window) -> pa.Table:
        return window.table.take(pa.array(self.select(window)))


class Deduplicate(SelectingEngine):
    """The newest row of a key is the row; if it is a delete, the key is gone."""

    name = "deduplicate"

    def select(self, window: Window) -> Indices:
        return window.newest


ENGINES: dict[str, type[MergeEngine]] = {Deduplicate.name: Deduplicate}


def merge_engine(schema: TableSchema) -> MergeEngine:
    """The engine that a table's options name.

    Raises:
        UnsupportedError: there is no such engine here.
    """
    name = schema.options.get("merge-engine", Deduplicate.name)
    if name not in ENGINES:
        raise UnsupportedError(f"The merge engine '{name}' is not offered.", remedy=f"Use one of {sorted(ENGINES)}.")
    return ENGINES[name](schema)
