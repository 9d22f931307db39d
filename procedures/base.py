"""Base class and context of stored procedures, and declaration of their arguments and results as records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, ClassVar

from paimon_sql.catalog.catalog import Catalog, opened_or_suggested, with_snapshots
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier, parse_identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.discovery import name_of
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema.records import Int, Long, Record, StringMap, column, columns_of
from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.execution.task_executor import Executor, LocalExecutor, Work
from paimon_sql.storage.table.table import Table

if TYPE_CHECKING:
    from paimon_sql.procedures.refresher import PlainTables, Refresher


@dataclass(frozen=True)
class Context:
    """The environment of a call.

    Attributes:
        catalog: the catalog of the procedure.
        database: the current database, for names without one.
        executor: runs the tasks of a plan.
        zone: the session's time zone, for times in arguments; None for this machine's.
        settings: the session's settings ``spark.paimon.*``, without that prefix.
        work: progress of the call, if it is observed.
        is_cancelled: whether the call was cancelled; called in the call's thread.
        others: the other Paimon catalogs of the session, by name.
        plain_tables: the tables of plain files of the session; None without Spark.
        refresher: refreshes materialized tables; None without Spark.
    """

    catalog: Catalog
    database: str = "default"
    executor: Executor = field(default_factory=LocalExecutor)
    zone: tzinfo | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    work: Work | None = None
    is_cancelled: Callable[[], bool] = lambda: False
    others: Mapping[str, Catalog] = field(default_factory=dict)
    plain_tables: PlainTables | None = None
    refresher: Refresher | None = None

    def tracked(self, names: Sequence[Identifier]) -> Iterator[Identifier]:
        """Yield names of tables, and report each as progress when the next is taken."""
        if self.work is not None:
            self.work.expect(len(names))
        for name in names:
            yield name
            if self.work is not None:
                self.work.advance()

    def table(self, name: str) -> Table:
        """The table that an argument names.

        Raises:
            InvalidInputError: the name is blank or names another catalog.
            NoSuchTableError: there is no such table.
        """
        return with_branch(with_snapshots(self.any_table(name)))

    def any_table(self, name: str) -> AnyTable:
        """The table that an argument names, of any kind; errors as in `table`."""
        catalog, identifier = self.locate(name)
        if catalog is not self.catalog:
            raise _not_named(name, "table", self.catalog)
        return opened_or_suggested(catalog, identifier)

    def require_refresher(self) -> Refresher:
        """The refresher of materialized tables.

        Raises:
            UnsupportedError: there is no Spark session, which would run their queries.
        """
        if self.refresher is None:
            raise UnsupportedError(
                "Materialized tables are refreshed by Spark, which runs their queries.",
                remedy='Call the procedure in SQL: paimon-sql -e "CALL sys.refresh_materialized_tables()".',
            )
        return self.refresher

    def locate(self, name: str) -> tuple[Catalog, Identifier]:
        """Resolve a table's name to its catalog, this one or another of the session, and its identifier.

        Raises:
            InvalidInputError: the name is blank, or its catalog is not a Paimon catalog.
        """
        if name and (known := self.catalog.identifier_of(name)) is not None:
            return self.catalog, known
        catalog, database, found = self._located(name, "table")
        return catalog, parse_identifier(database, found)

    def locate_object(self, name: str, kind: str) -> tuple[Catalog, Identifier]:
        """Resolve the name of a view or function (``kind``), in which ``$`` has no meaning.

        Raises:
            InvalidInputError: the name is blank, in ``sys``, or its catalog is not a Paimon catalog.
        """
        catalog, database, found = self._located(name, kind)
        if database.lower() == SYSTEM_DATABASE:
            raise InvalidInputError(f"{database} is reserved for the catalog: {found} cannot be in it.")
        return catalog, Identifier(database, found)

    def _located(self, name: str, kind: str) -> tuple[Catalog, str, str]:
        parts = [p.strip("`") for p in name.split(".")] if name else []
        catalog: Catalog | None = self.catalog
        if len(parts) == 3:
            catalog = self.catalog if parts[0] == self.catalog.name else self.others.get(parts[0])
            parts = parts[1:]
        if catalog is None or not parts or len(parts) > 2 or not all(parts):
            raise _not_named(name, kind, self.catalog)
        return catalog, parts[0] if len(parts) == 2 else self.database, parts[-1]


def _not_named(name: str, kind: str, catalog: Catalog) -> InvalidInputError:
    problem, short = f"'{name}' is not a {kind} of catalog {catalog.name}.", kind[0]
    return InvalidInputError(problem, remedy=f"Write {short}, db.{short} or catalog.db.{short}.")


class Procedure(ABC):
    """A stored procedure (Paimon: `Procedure`).

    The fields of its records determine signature, binding of calls, result columns, DESCRIBE PROCEDURE, completion and
    the reference page. Arguments are declared by `required` and `optional`, result columns by `column` and `detail`;
    those of many procedures are in records to derive from, such as `OfTable` and `Committed`.

    Class attributes:
        name: its name in ``sys``; by default the class's in snake case.
        summary: its effect; one sentence.
        example: an example call.
        Arguments: a record of its arguments in order.
        Result: a record of its result columns, those of Apache Paimon's connector first.
        arguments: the arguments of ``Arguments``.
        results: the result columns that the connector has, too.
        details: the further result columns, with details.
        columns: all result columns.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    Arguments: ClassVar[type]
    Result: ClassVar[type]
    arguments: ClassVar[tuple[Argument, ...]]
    results: ClassVar[tuple[DataField, ...]]
    details: ClassVar[tuple[DataField, ...]]
    columns: ClassVar[tuple[DataField, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Arguments" in vars(cls):
            cls.name = name_of(cls)
            cls.arguments = arguments_of(cls.Arguments)
            cls.results, cls.details = results_of(cls.Result)
            cls.columns = (*cls.results, *cls.details)

    @abstractmethod
    def call(self, context: Context, arguments: Any) -> Record | Iterable[Record]:
        """Run the procedure; returns a row of ``Result``, or several.

        Args:
            context: the environment of the call.
            arguments: an instance of ``Arguments``.
        """


__all__ = ["Int", "Long", "Record", "StringMap", "column", "detail", "optional", "required"]
"""The words of a declaration."""


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure; None if it is omitted, unless it is ``required``."""

    name: str
    type: DataType
    meaning: str
    required: bool = False


def required(meaning: str) -> Any:
    """Declare a required argument."""
    return column(meaning)


def optional(meaning: str, *, default: object = None, last: bool = False) -> Any:
    """Declare an optional argument, None by default; a ``last`` one follows the others, also of derived records."""
    return field(default=default, metadata={"meaning": meaning, "nullable": None, "last": last})


def detail(meaning: str, *, last: bool = False) -> Any:
    """Declare a result column that Apache Paimon's connector does not have; ``last`` as in `optional`."""
    return field(default=None, metadata={"meaning": meaning, "nullable": None, "last": last, "detail": True})


DRY_RUN = "Whether to only report what would be done."


class DryRun(Record, kw_only=True):
    """The last argument of calls that change something."""

    dry_run: bool = optional(DRY_RUN, default=False, last=True)


class TheTable(Record, kw_only=True):
    """The first argument of calls on a table."""

    table: str = required("The table: t, db.t or catalog.db.t; a branch is `t$branch_b`.")


class OfTable(TheTable, DryRun, kw_only=True):
    """The first and the last argument of calls that change a table."""


class Done(Record, kw_only=True):
    """The first result column of calls that succeed or raise an error."""

    result: bool = column("always true", default=True)


class Seconds(Record, kw_only=True):
    """The duration, which `run` fills in."""

    seconds: float = detail("duration in seconds", last=True)


class Noted(Record, kw_only=True):
    """The note; `run` fills it in for a dry run without another one."""

    note: str | None = detail("why nothing was done", last=True)


class DryRunNoted(Noted, kw_only=True):
    """The note of calls that do nothing only in a dry run."""

    note: str | None = detail("whether this was a dry run", last=True)


class Timed(Noted, Seconds, kw_only=True):
    """The last result columns of most calls."""


class NewSnapshot(Record, kw_only=True):
    """The result of a commit."""

    snapshot_id: Long | None = detail("the created snapshot; null if nothing was done", last=True)


class Committed(Timed, NewSnapshot, kw_only=True):
    """The last result columns of calls that commit."""


def arguments_of(record: type) -> tuple[Argument, ...]:
    """The declared arguments, in order."""
    return tuple(Argument(c.name, c.type, c.description or "", f.default is MISSING) for c, f in _declared(record))


def results_of(record: type) -> tuple[tuple[DataField, ...], tuple[DataField, ...]]:
    """The declared result columns: those of Apache Paimon's connector, which are nullable by default, and details."""
    declared = _declared(record)
    details = tuple(c for c, f in declared if "detail" in f.metadata)
    return tuple(c for c, f in declared if "detail" not in f.metadata), details


def _declared(record: type) -> list[tuple[DataField, Field[object]]]:
    """The columns of a record with their declarations, in order."""
    found = zip(columns_of(record, nullable=True), fields(record), strict=True)
    return sorted(found, key=lambda pair: bool(pair[1].metadata.get("last")))
