"""Execution of carried statements: context, runner and answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.sql.context import TableName
from paimon_sql.sql.grammar.statement import Statement
from paimon_sql.storage.branches.management import with_branch
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class StatementContext:
    """The context of a statement: the session, and the catalog whose CALL carries it.

    ``add_catalog`` and ``drop_catalog`` change the session's catalogs and return whether they did.
    """

    jvm: Jvm
    session: Any
    catalog: Catalog
    add_catalog: Callable[[str, dict[str, str]], bool]
    drop_catalog: Callable[[str], bool]

    def identifier(self, name: TableName) -> Identifier:
        """A table's full name as an identifier of the catalog."""
        if len(name) != 3:
            raise InvalidInputError(f"{'.'.join(name)} is no table: a name is catalog.database.table.")
        return parse_identifier(name[1], name[2])

    def table(self, name: TableName) -> Table:
        """The table of that full name, on the branch that its options set."""
        return with_branch(self.catalog.table(self.identifier(name)))


@dataclass(frozen=True)
class Answer:
    """The result rows of a statement."""

    columns: tuple[DataField, ...] = ()
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    @staticmethod
    def of_names(column: str, names: Iterable[str]) -> Answer:
        """One row per name."""
        return Answer((DataField(-1, column, string_type(False)),), [(name,) for name in names])


class Runner(ABC):
    """Executes statements of the class ``statement``."""

    statement: ClassVar[type[Statement]]

    @abstractmethod
    def run(self, statement: Any, surroundings: StatementContext) -> Answer:
        """Execute a statement."""
