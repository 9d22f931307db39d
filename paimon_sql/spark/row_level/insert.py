"""INSERT .. BY NAME that may bring columns: the table gets them, then Spark executes the statement on the new table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.table import BRANCH
from paimon_sql.spark.java import CATALOG, EXECUTION, Jvm
from paimon_sql.spark.merge_schema import SchemaMerge
from paimon_sql.spark.plan_rules import with_parts
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.session_options import session_options, under_session
from paimon_sql.spark.table import TableProxy
from paimon_sql.sql.statements import InsertByName
from paimon_sql.storage.branching import on_its_branch
from paimon_sql.storage.table import Table
from paimon_sql.storage.travel import TRAVEL_KEYS

_MAP = "org.apache.spark.sql.util.CaseInsensitiveStringMap"


class InsertByNameRun:
    """One statement on one table.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the table's catalog.
        identifier: the table.
        statement: the statement.
    """

    def __init__(
        self, jvm: Jvm, session: Any, catalog: Catalog, identifier: Identifier, statement: InsertByName
    ) -> None:
        self._jvm = jvm
        self._session = session
        self._catalog = catalog
        self._identifier = identifier
        self._statement = statement
        self._analyzer = Analyzer(jvm, session, catalog.name)

    def run(self) -> None:
        """Change the table's columns as the rows need it, and write them.

        Raises:
            InvalidInputError: Spark refuses the statement; the message tells where in its text.
            InvalidSchemaError: the table cannot take the rows.
        """
        merge, command = self._prepared()
        table = merge.evolved(self._catalog, replace(self._identifier, branch=merge.table.branch))
        try:
            self._analyzer.frame(self._written(command, merge, table))
        except AnalysisException as error:
            raise InvalidInputError(str(error).split(";\n", 1)[0]) from None

    def explain(self, mode: str) -> str:
        """The plan of the write as it would be, on the table as it would be; nothing changes."""
        merge, command = self._prepared()
        plan = self._written(command, merge, merge.foreseen())
        skip = self._jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        execution = self._session.sessionState().executePlan(plan, skip)
        told = self._jvm.cls("org.apache.spark.sql.api.python.PythonSQLUtils").explainString(execution, mode)
        changes = "".join(f"{change}\n" for change in merge.changes())
        return f"== INSERT into {self._identifier} ==\n{changes}{told}"

    def _prepared(self) -> tuple[SchemaMerge, Any]:
        """What the rows make of the table, and the statement as Spark parses it."""
        parsed = self._analyzer.parse(self._statement.text)
        around = parsed if parsed.getClass().getSimpleName() == "UnresolvedWith" else None
        command = around.child() if around is not None else parsed
        query = command.query()
        if around is not None:
            query = around.withNewChildren(self._jvm.seq([query]))
        try:
            frame = self._analyzer.frame(query)
        except AnalysisException as error:
            raise InvalidInputError(str(error).split(";\n", 1)[0]) from None
        exact = bool(self._session.sessionState().conf().caseSensitiveAnalysis())
        return SchemaMerge(self._table(), frame, case_sensitive=exact), command

    def _written(self, command: Any, merge: SchemaMerge, table: Table) -> Any:
        """The INSERT into the table as it is now, of rows that have all of its inner fields."""
        jvm = self._jvm
        manager = self._session.sessionState().catalogManager()
        name = jvm.cls(f"{CATALOG}.Identifier").of(
            jvm.strings([self._identifier.database]), self._identifier.object_name
        )
        relation = jvm.cls(f"{EXECUTION}.datasources.v2.DataSourceV2Relation").create(
            TableProxy(jvm, table, self._session),
            jvm.some(manager.catalog(self._catalog.name)),
            jvm.some(name),
        )
        options = jvm.new(_MAP, jvm.java_map(self._statement.options))
        rows = merge.rows(table)._jdf.queryExecution().analyzed()
        return with_parts(jvm, command, table=with_parts(jvm, relation, options=options), query=rows)

    def _table(self) -> Table:
        identifier = self._identifier
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table, into which nothing can be written.")
        options = session_options(self._jvm, self._session, self._catalog.name, identifier)
        given = {k: v for k, v in self._statement.options.items() if k not in TRAVEL_KEYS}
        asked = given.get(BRANCH.key) or options.get(BRANCH.key)
        table = on_its_branch(taking_rows(self._catalog.table(identifier)), asked)
        return under_session(table, options, writes=True).with_options(given)
