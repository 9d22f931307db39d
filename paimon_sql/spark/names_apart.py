"""Names of Paimon's tables kept from Spark's own commands, which look into Spark's own catalog alone.

``CREATE TABLE t USING parquet`` would make a second ``t`` beside one of Paimon's, perhaps in its folder, from which
INSERT OVERWRITE or DROP TABLE removes all files. Such commands come by SQL and from DataFrames; each goes through the
optimizer before anything is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.java import CATALOG, CATALYST, Jvm, raise_java
from paimon_sql.spark.plan_rules import PlanRule
from paimon_sql.spark.session_catalog import SESSION_CATALOG, SessionCatalogProxy

_WRITES = ("Append", "Overwrite")


def _nothing(command: Any) -> Any:
    return None


@dataclass(frozen=True)
class _Command:
    """A kind of command that makes a name.

    Attributes:
        target: the ``TableIdentifier`` that one makes; None if it makes nothing in a catalog.
        is_tolerant: whether one does nothing where the name is taken.
        source: the ``TableIdentifier`` whose database is meant where the target says none; None for the current one.
        mode: the ``SaveMode`` of one that has it.
    """

    target: Callable[[Any], Any]
    is_tolerant: Callable[[Any], Any]
    source: Callable[[Any], Any] = _nothing
    mode: Callable[[Any], Any] = _nothing


def _persistent_view(command: Any) -> Any:
    is_persistent = command.viewType().getClass().getSimpleName().rstrip("$") == "PersistedView"
    return command.name() if is_persistent else None


_CREATE = _Command(lambda c: c.table().identifier(), lambda c: c.ignoreIfExists())
_COMMANDS = {
    "CreateDataSourceTableCommand": _CREATE,
    "CreateTableCommand": _CREATE,
    "CreateDataSourceTableAsSelectCommand": _Command(
        lambda c: c.table().identifier(), lambda c: c.mode().name() == "Ignore", mode=lambda c: c.mode()
    ),
    "CreateHiveTableAsSelectCommand": _Command(
        lambda c: c.tableDesc().identifier(), lambda c: c.mode().name() == "Ignore", mode=lambda c: c.mode()
    ),
    "CreateTableLikeCommand": _Command(lambda c: c.targetTable(), lambda c: c.ifNotExists()),
    "CreateViewCommand": _Command(_persistent_view, lambda c: c.allowExisting()),
    "AlterTableRenameCommand": _Command(lambda c: c.newName(), lambda c: False, source=lambda c: c.oldName()),
}
"""The commands of Spark's that make a name, by their classes."""


class KeepNamesApart(PlanRule):
    """Refuses commands of Spark's own that would make what is a table of Paimon's.

    Args:
        jvm: the JVM.
        session: the session that the commands are of.
        shared: its ``spark_catalog``.
    """

    def __init__(self, jvm: Jvm, session: Any, shared: SessionCatalogProxy) -> None:
        super().__init__(jvm)
        self._session = session
        self._shared = shared

    def rewritten(self, plan: Any) -> Any:
        command = _COMMANDS.get(str(plan.getClass().getSimpleName()))
        target = command.target(plan) if command is not None else None
        if command is None or target is None:
            return plan
        database, name = self._named(target, command.source(plan))
        if not self._shared.holds(database, name):
            return plan
        if command.is_tolerant(plan):
            return self.jvm.singleton(f"{CATALYST}.plans.logical.LocalRelation").apply(self.jvm.seq([]))
        mode = command.mode(plan)
        if mode is not None and mode.name() in _WRITES:
            raise UnsupportedError(
                f"{SESSION_CATALOG}.{database}.{name} is a table of Paimon's, which is not written to as an ordinary"
                " one.",
                remedy="Say format('paimon'), or use insertInto or writeTo.",
            )
        ident = self.jvm.cls(f"{CATALOG}.Identifier").of(self.jvm.strings([database]), name)
        raise_java(self.jvm.new(f"{CATALYST}.analysis.TableAlreadyExistsException", ident))
        return plan

    def _named(self, target: Any, source: Any) -> tuple[str, str]:
        """The database and name that a ``TableIdentifier`` means."""
        for identifier in (target, source):
            if identifier is not None and identifier.database().isDefined():
                return str(identifier.database().get()), str(target.table())
        return str(self._session.sessionState().catalog().getCurrentDatabase()), str(target.table())
