"""Spark's own commands in ``spark_catalog``, which look into Spark's own catalog alone, made to heed Paimon's tables.

``CREATE TABLE t USING parquet`` would make a second ``t`` beside one of Paimon's, perhaps in its folder, from which
INSERT OVERWRITE or DROP TABLE removes all files; SHOW TABLE EXTENDED would list ordinary tables alone. Such commands
come by SQL and from DataFrames; each goes through the optimizer before anything is done. A new kind of command is one
more entry of `COMMANDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.catalog.paimon_catalog import CatalogProxy
from paimon_sql.spark.catalog.session_catalog import SessionCatalogProxy
from paimon_sql.spark.ddl.create_table import PROVIDER
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST, Jvm, raise_java
from paimon_sql.spark.rules.optimizer import PlanRule
from paimon_sql.sql.context import SESSION_CATALOG

_ROWS = f"{CATALYST}.plans.logical.LocalRelation"
_DESCRIBES = "org.apache.spark.sql.execution.datasources.v2.ShowTablesExtendedExec"


class Command(ABC):
    """A kind of Spark's own commands that has to know of Paimon's tables."""

    @abstractmethod
    def judged(self, command: Any, rule: PaimonTableCommands) -> Any:
        """The plan that stands for a command: itself, or rows that are known already; an error where it is refused."""


@dataclass(frozen=True)
class Making(Command):
    """Makes a name.

    Attributes:
        target: the ``TableIdentifier`` that is made; None where nothing is made in a catalog.
        is_tolerant: whether nothing is to be done where the name is taken.
        writes: whether what has the name is to be written to.
        source: the ``TableIdentifier`` whose database is meant where the target says none; None for the current one.
    """

    target: Callable[[Any], Any]
    is_tolerant: Callable[[Any], Any]
    writes: Callable[[Any], bool] = lambda command: False
    source: Callable[[Any], Any] = lambda command: None

    def judged(self, command: Any, rule: PaimonTableCommands) -> Any:
        target = self.target(command)
        if target is None:
            return command
        database, name = rule.named(target, self.source(command))
        if not rule.is_paimons(database, name):
            return command
        if self.is_tolerant(command):
            return rule.jvm.singleton(_ROWS).apply(rule.jvm.seq([]))
        if self.writes(command):
            raise UnsupportedError(
                f"{SESSION_CATALOG}.{database}.{name} is a table of Paimon's, which is not written to as an ordinary"
                " one.",
                remedy="Say format('paimon'), or use insertInto or writeTo.",
            )
        ident = rule.jvm.cls(f"{CATALOG}.Identifier").of(rule.jvm.strings([database]), name)
        raise_java(rule.jvm.new(f"{CATALYST}.analysis.TableAlreadyExistsException", ident))


class Saving(Command):
    """``saveAsTable`` over an ordinary table, which it drops before it asks whether the format can take its place."""

    def judged(self, command: Any, rule: PaimonTableCommands) -> Any:
        description = command.tableDesc()
        if command.mode().name() == "Overwrite" and description.provider().get().lower() == PROVIDER:
            raise UnsupportedError(
                f"{SESSION_CATALOG}.{'.'.join(rule.named(description.identifier()))} is no table of Paimon's.",
                remedy="DROP it first.",
            )
        return command


class DroppingDatabase(Command):
    """DROP DATABASE as Spark did it once (``spark.sql.legacy.useV1Command``): it removes the database's folder."""

    def judged(self, command: Any, rule: PaimonTableCommands) -> Any:
        database = str(command.databaseName())
        if rule.has_tables(database):
            raise UnsupportedError(
                f"Database {database} holds tables of Paimon's, which this command knows nothing of.",
                remedy="RESET spark.sql.legacy.useV1Command.",
            )
        return command


class Listing(Command):
    """SHOW TABLE EXTENDED, which describes what Spark's own catalog knows: Paimon's tables stand among them."""

    def judged(self, command: Any, rule: PaimonTableCommands) -> Any:
        if not command.isExtended() or command.partitionSpec().isDefined():
            return command
        found = command.databaseName()
        database = str(found.get()) if found.isDefined() else rule.current_database()
        ours = rule.described(database, str(command.tableIdentifierPattern().get()), command.output())
        if not ours:
            return command
        relation, jvm = rule.jvm.singleton(_ROWS), rule.jvm
        sparks = relation.fromExternalRows(command.output(), command.run(rule.session)).data()
        # A metastore may have told Spark of Paimon's tables too.
        rows = _by_name(jvm.items(sparks)) | ours
        listed = [rows[key] for key in sorted(rows)]
        return jvm.new(_ROWS, command.output(), jvm.seq(listed), False, jvm.none)


def _by_name(rows: Iterable[Any]) -> dict[tuple[bool, str], Any]:
    """The rows of SHOW TABLE EXTENDED by whether they are of temporary views, and by name."""
    return {(bool(row.getBoolean(2)), str(row.getUTF8String(1).toString())): row for row in rows}


def _persistent_view(command: Any) -> Any:
    is_persistent = command.viewType().getClass().getSimpleName().rstrip("$") == "PersistedView"
    return command.name() if is_persistent else None


def _ignores(command: Any) -> bool:
    return bool(command.mode().name() == "Ignore")


def _writes(command: Any) -> bool:
    return command.mode().name() in ("Append", "Overwrite")


COMMANDS: dict[str, Command] = {
    "CreateDataSourceTableCommand": Making(lambda c: c.table().identifier(), lambda c: c.ignoreIfExists()),
    "CreateTableCommand": Making(lambda c: c.table().identifier(), lambda c: c.ignoreIfExists()),
    "CreateDataSourceTableAsSelectCommand": Making(lambda c: c.table().identifier(), _ignores, _writes),
    "CreateHiveTableAsSelectCommand": Making(lambda c: c.tableDesc().identifier(), _ignores, _writes),
    "CreateTableLikeCommand": Making(lambda c: c.targetTable(), lambda c: c.ifNotExists()),
    "CreateViewCommand": Making(_persistent_view, lambda c: c.allowExisting()),
    "AlterTableRenameCommand": Making(lambda c: c.newName(), lambda c: False, source=lambda c: c.oldName()),
    "SaveAsV1TableCommand": Saving(),
    "DropDatabaseCommand": DroppingDatabase(),
    "ShowTablesCommand": Listing(),
}
"""The commands that are judged, by their classes."""


class PaimonTableCommands(PlanRule):
    """Refuses what Spark's own commands must not do where Paimon has tables, and completes what they tell.

    Args:
        jvm: the JVM.
        session: the session that the commands are of.
        shared: its ``spark_catalog``.
    """

    roots = frozenset(COMMANDS)

    def __init__(self, jvm: Jvm, session: Any, shared: SessionCatalogProxy) -> None:
        super().__init__(jvm)
        self.session = session
        self._shared = shared

    def rewritten(self, plan: Any) -> Any:
        return COMMANDS[str(plan.getClass().getSimpleName())].judged(plan, self)

    def is_paimons(self, database: str, name: str) -> bool:
        """Whether a name is that of a table of Paimon's, as Spark's own catalog would keep it."""
        if self._shared.holds(database, name):
            return True
        exact = bool(self.session.sessionState().conf().caseSensitiveAnalysis())
        return not exact and self._shared.holds(database.lower(), name.lower())

    def has_tables(self, database: str) -> bool:
        """Whether a database holds anything of Paimon's."""
        catalog = self._shared.catalog
        if not catalog.database_exists(database):
            return False
        return bool(catalog.list_tables(database) or catalog.list_views(database) or catalog.list_functions(database))

    def named(self, target: Any, source: Any = None) -> tuple[str, str]:
        """The database and name that a ``TableIdentifier`` means."""
        for identifier in (target, source):
            if identifier is not None and identifier.database().isDefined():
                return str(identifier.database().get()), str(target.table())
        return self.current_database(), str(target.table())

    def current_database(self) -> str:
        """The database that names without one are in."""
        return str(self.session.sessionState().catalog().getCurrentDatabase())

    def described(self, database: str, pattern: str, output: Any) -> dict[tuple[bool, str], Any]:
        """Paimon's tables of a database whose names a pattern fits, as Spark describes those of any catalog.

        Args:
            database: the database.
            pattern: what names are to be like, as SHOW TABLES has it.
            output: the attributes of the rows.
        """
        shared = self._shared
        if not shared.catalog.database_exists(database):
            return {}
        own = CatalogProxy(self.jvm, shared.catalog, shared.session, shared.session_catalogs)
        told = self.jvm.new(_DESCRIBES, output, own, self.jvm.seq([database]), pattern).executeCollect()
        return {key: row for key, row in _by_name(told).items() if not key[0]}
