"""Execution of carried statements: context, runner and answer, and the check that a nested query only reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, get_args

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.jvm.gateway import PLANS, Jvm
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import TableName
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.table.table import Table

S = TypeVar("S", bound=Statement)


class SessionCatalogs(Protocol):
    """The Paimon catalogs of one session, which statements may change."""

    def add(self, name: str, options: dict[str, str]) -> bool:
        """Add a catalog; False if there is one of that name."""

    def drop(self, name: str) -> bool:
        """Remove a catalog from the session; False if there is no Paimon catalog of that name."""

    def all(self) -> dict[str, Catalog]:
        """All Paimon catalogs by name."""


@dataclass(frozen=True)
class StatementContext:
    """The context of a statement: the session with its catalogs, and the catalog whose CALL carries it."""

    session: JvmSession
    catalog: Catalog
    session_catalogs: SessionCatalogs

    def identifier(self, name: TableName) -> Identifier:
        """A table's full name as an identifier of the catalog."""
        if len(name) != 3:
            raise InvalidInputError(f"{'.'.join(name)} is not a table name: expected catalog.database.table.")
        return parse_identifier(name[1], name[2])

    def table(self, name: TableName) -> Table:
        """The table of that full name, on the branch that its options set."""
        return with_branch(self.catalog.table(self.identifier(name)))


@dataclass(frozen=True)
class Answer:
    """The result rows of a statement."""

    columns: tuple[DataField, ...] = ()
    rows: Sequence[tuple[object, ...]] = ()

    @staticmethod
    def of_names(column: str, names: Iterable[str]) -> Answer:
        """One row per name."""
        return Answer((DataField(-1, column, string_type(False)),), [(name,) for name in names])


class Runner(ABC, Generic[S]):
    """Executes statements of the class ``statement``, which its base names: ``Runner[CreateTag]``."""

    statement: type[S]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        (cls.statement,) = get_args(vars(cls)["__orig_bases__"][0])

    @abstractmethod
    def run(self, statement: S, context: StatementContext) -> Answer | None:
        """Execute a statement; None for one without a result."""


_NOT_READS = (f"{PLANS}.Command", f"{PLANS}.ParsedStatement", f"{PLANS}.InsertIntoDir")


def is_read_only(jvm: Jvm, plan: LogicalPlan) -> bool:
    """Whether no node of a parsed plan is a command or a write."""
    nodes = [plan]
    while nodes:
        node = nodes.pop()
        if any(jvm.java_class(name).isInstance(node) for name in _NOT_READS):
            return False
        nodes += jvm.items(node.children())
    return True
