"""Validation of Spark's own commands in ``spark_catalog``, which only see Spark's own catalog, not Paimon's tables.

``CREATE TABLE t USING parquet`` would create a second ``t`` beside Paimon's, possibly in its directory, where INSERT
OVERWRITE or DROP TABLE deletes all files; SHOW TABLE EXTENDED would list only ordinary tables. Such commands come from
SQL and from DataFrames; each passes the optimizer before it is executed. A new kind of command is one more entry of
`COMMANDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.catalog.session_catalog import SessionCatalogProxy
from paimon_sql.spark.ddl.create_table import PROVIDER
from paimon_sql.spark.java.catalyst import Attribute, InternalRow, LogicalPlan, TableName
from paimon_sql.spark.java.objects import Option, Seq
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST
from paimon_sql.spark.jvm.proxy import raise_java
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.optimizer import PlanRule
from paimon_sql.spark.statement_rules.catalog_listings import DESCRIBED_TABLES, ROWS, rows_by_name
from paimon_sql.sql.context import SESSION_CATALOG


@dataclass(frozen=True)
class CreateCommand:
    """The check of a command that creates a table or view.

    Attributes:
        target: the ``TableIdentifier`` to create; None if nothing is created in a catalog.
        is_tolerant: whether an existing name is not an error.
        writes: whether the command writes into an existing table.
        source: the ``TableIdentifier`` with the default database of the target; None for the current database.
    """

    target: Callable[[LogicalPlan], TableName | None]
    is_tolerant: Callable[[LogicalPlan], bool]
    writes: Callable[[LogicalPlan], bool] = lambda command: False
    source: Callable[[LogicalPlan], TableName | None] = lambda command: None

    def __call__(self, command: LogicalPlan, rule: PaimonTableCommands) -> LogicalPlan:
        target = self.target(command)
        if target is None:
            return command
        database, name = rule.named(target, self.source(command))
        if not rule.is_paimon_table(database, name):
            return command
        if self.is_tolerant(command):
            return rule.jvm.singleton(ROWS).apply(rule.jvm.nil)
        if self.writes(command):
            raise UnsupportedError(
                f"{SESSION_CATALOG}.{database}.{name} is a Paimon table, which this command cannot write to.",
                remedy="Use format('paimon'), insertInto or writeTo.",
            )
        ident = rule.jvm.cls(f"{CATALOG}.Identifier").of(rule.jvm.strings([database]), name)
        raise_java(rule.jvm.new(f"{CATALYST}.analysis.TableAlreadyExistsException", ident))


def check_save(command: LogicalPlan, rule: PaimonTableCommands) -> LogicalPlan:
    """``saveAsTable`` over an ordinary table, which Spark drops before it checks whether it can create the new one."""
    description = command.tableDesc()
    if command.mode().name() == "Overwrite" and description.provider().get().lower() == PROVIDER:
        raise UnsupportedError(
            f"{SESSION_CATALOG}.{'.'.join(rule.named(description.identifier()))} is not a Paimon table.",
            remedy="DROP it first.",
        )
    return command


def check_drop_database(command: LogicalPlan, rule: PaimonTableCommands) -> LogicalPlan:
    """The legacy DROP DATABASE (``spark.sql.legacy.useV1Command``), which deletes the database's directory."""
    catalog, database = rule.shared.catalog, str(command.databaseName())
    kinds = (catalog.list_tables, catalog.list_views, catalog.list_functions)
    if catalog.database_exists(database) and any(listed(database) for listed in kinds):
        raise UnsupportedError(
            f"Database {database} contains Paimon tables, which this command does not support.",
            remedy="RESET spark.sql.legacy.useV1Command.",
        )
    return command


def check_list(command: LogicalPlan, rule: PaimonTableCommands) -> LogicalPlan:
    """SHOW TABLE EXTENDED: Paimon's tables are added to those of Spark's own catalog."""
    if not command.isExtended() or command.partitionSpec().isDefined():
        return command
    found: Option[str] = command.databaseName()
    database = found.get() if found.isDefined() else rule.current_database()
    ours = rule.described(database, str(command.tableIdentifierPattern().get()), command.output())
    if not ours:
        return command
    relation, jvm = rule.jvm.singleton(ROWS), rule.jvm
    sparks: Seq[InternalRow] = relation.fromExternalRows(command.output(), command.run(rule.session.java)).data()
    # Spark's rows may include Paimon's tables from a shared metastore.
    rows = rows_by_name(jvm.items(sparks)) | ours
    listed = [rows[key] for key in sorted(rows)]
    return jvm.new(ROWS, command.output(), jvm.seq(listed), False, jvm.none)


def _persistent_view(command: LogicalPlan) -> TableName | None:
    is_persistent = command.viewType().getClass().getSimpleName().rstrip("$") == "PersistedView"
    name: TableName = command.name()
    return name if is_persistent else None


def _ignores(command: LogicalPlan) -> bool:
    return str(command.mode().name()) == "Ignore"


def _writes(command: LogicalPlan) -> bool:
    return command.mode().name() in ("Append", "Overwrite")


Check = Callable[[LogicalPlan, "PaimonTableCommands"], LogicalPlan]
"""The check of one kind of Spark's own commands: the plan to execute, which is the command or rows that replace its
result. It raises UnsupportedError for a command that is refused."""

COMMANDS: dict[str, Check] = {
    "CreateDataSourceTableCommand": CreateCommand(lambda c: c.table().identifier(), lambda c: bool(c.ignoreIfExists())),
    "CreateTableCommand": CreateCommand(lambda c: c.table().identifier(), lambda c: bool(c.ignoreIfExists())),
    "CreateDataSourceTableAsSelectCommand": CreateCommand(lambda c: c.table().identifier(), _ignores, _writes),
    "CreateHiveTableAsSelectCommand": CreateCommand(lambda c: c.tableDesc().identifier(), _ignores, _writes),
    "CreateTableLikeCommand": CreateCommand(lambda c: c.targetTable(), lambda c: bool(c.ifNotExists())),
    "CreateViewCommand": CreateCommand(_persistent_view, lambda c: bool(c.allowExisting())),
    "AlterTableRenameCommand": CreateCommand(lambda c: c.newName(), lambda c: False, source=lambda c: c.oldName()),
    "SaveAsV1TableCommand": check_save,
    "DropDatabaseCommand": check_drop_database,
    "ShowTablesCommand": check_list,
}
"""The checked commands, by the names of their classes."""


class PaimonTableCommands(PlanRule):
    """Refuses Spark's own commands that would conflict with Paimon's tables, and completes their results.

    Args:
        session: the session of the commands.
        shared: its ``spark_catalog``.
    """

    roots = frozenset(COMMANDS)

    def __init__(self, session: JvmSession, shared: SessionCatalogProxy) -> None:
        super().__init__(session)
        self.shared = shared

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        return COMMANDS[plan.getClass().getSimpleName()](plan, self)

    def is_paimon_table(self, database: str, name: str) -> bool:
        """Whether a name is that of a Paimon table, also in lower case if the session is case-insensitive."""
        if self.shared.has_table(database, name):
            return True
        return not self.session.case_sensitive and self.shared.has_table(database.lower(), name.lower())

    def named(self, target: TableName, source: TableName | None = None) -> tuple[str, str]:
        """The database and name of a ``TableIdentifier``."""
        for identifier in (target, source):
            if identifier is not None and identifier.database().isDefined():
                return identifier.database().get(), target.table()
        return self.current_database(), target.table()

    def current_database(self) -> str:
        """The session's current database."""
        return str(self.session.state.catalog().getCurrentDatabase())

    def described(self, database: str, pattern: str, output: Seq[Attribute]) -> dict[tuple[bool, str], InternalRow]:
        """Spark's rows of SHOW TABLE EXTENDED for the Paimon tables of a database that match a pattern.

        Args:
            database: the database.
            pattern: the pattern of names of SHOW TABLES.
            output: the attributes of the rows.
        """
        shared = self.shared
        if not shared.catalog.database_exists(database):
            return {}
        own = CatalogProxy(shared.session, shared.catalog, shared.session_catalogs)
        rows = self.jvm.new(DESCRIBED_TABLES, output, own, self.jvm.seq([database]), pattern).executeCollect()
        return {key: row for key, row in rows_by_name(rows).items() if not key[0]}
