"""INSERTs that may bring columns: the table gets them, then Spark executes the statement on the new table.

They are those BY NAME under ``write.merge-schema``, and those WITH SCHEMA EVOLUTION. Rows of the latter that go by
their places get the names of the columns, and of the fields inside, in whose places they stand; what is left over
brings its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.spark import WRITE_MERGE_SCHEMA, WRITE_MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.format.options.table import BRANCH
from paimon_sql.spark.analysis_rules import RELATION
from paimon_sql.spark.java import CATALOG, EXECUTION, Jvm
from paimon_sql.spark.merge_schema import SchemaMerge
from paimon_sql.spark.nested_fields import NestedFields
from paimon_sql.spark.plan_rules import with_parts
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.session_options import session_options, under_session
from paimon_sql.spark.table import TableProxy
from paimon_sql.spark.types import spark_struct
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.storage.branching import on_its_branch
from paimon_sql.storage.table import Table
from paimon_sql.storage.travel import TRAVEL_KEYS

_MAP = "org.apache.spark.sql.util.CaseInsensitiveStringMap"
_EVOLVES = {WRITE_MERGE_SCHEMA.key: "true", WRITE_MERGE_SCHEMA_TYPE_WIDENING.key: "true"}


class EvolvingInsertRun:
    """One statement on one table.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the table's catalog.
        identifier: the table.
        statement: the statement.
    """

    def __init__(
        self, jvm: Jvm, session: Any, catalog: Catalog, identifier: Identifier, statement: EvolvingInsert
    ) -> None:
        self._jvm = jvm
        self._session = session
        self._catalog = catalog
        self._identifier = identifier
        self._statement = statement
        self._analyzer = Analyzer(jvm, session, catalog.name)
        self._exact = bool(session.sessionState().conf().caseSensitiveAnalysis())

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
        table = self._table()
        if not _goes_by_name(command):
            frame = _named(frame, self._columns(table, command))
            command = with_parts(self._jvm, command, byName=True, userSpecifiedCols=self._jvm.seq([]))
        return SchemaMerge(table, frame, case_sensitive=self._exact), command

    def _columns(self, table: Table, command: Any) -> list[StructField]:
        """The columns of the table in the order in which rows are to have them.

        Raises:
            InvalidInputError: the statement names a column that the table lacks.
        """
        struct = StructType.fromJson(spark_struct(table.schema.fields))
        folded = NestedFields(self._exact).folded
        said = [folded(str(name)) for name in self._jvm.items(command.userSpecifiedCols())]
        spec = self._jvm.items(command.partitionSpec().toSeq())
        fixed = {folded(str(part._1())) for part in spec if part._2().isDefined()}
        known = {folded(f.name): f for f in struct.fields if folded(f.name) not in fixed}
        if unknown := [name for name in said if name not in known]:
            raise InvalidInputError(f"{self._identifier} has no column {unknown[0]} that the rows could go into.")
        return [known[name] for name in said] or list(known.values())

    def _written(self, command: Any, merge: SchemaMerge, table: Table) -> Any:
        """The INSERT into the table as it is now, of rows that have all of its inner fields."""
        jvm = self._jvm
        manager = self._session.sessionState().catalogManager()
        name = jvm.cls(f"{CATALOG}.Identifier").of(
            jvm.strings([self._identifier.database]), self._identifier.object_name
        )
        relation = jvm.cls(RELATION).create(
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
        asked_for = _EVOLVES if self._statement.evolves else {}
        given = asked_for | {k: v for k, v in self._statement.options.items() if k not in TRAVEL_KEYS}
        asked = given.get(BRANCH.key) or options.get(BRANCH.key)
        table = on_its_branch(taking_rows(self._catalog.table(identifier)), asked)
        return under_session(table, options, writes=True).with_options(given)


def _goes_by_name(command: Any) -> bool:
    """Whether rows find their columns by name.

    Raises:
        UnsupportedError: they do not, in a form of INSERT that knows no names.
    """
    if command.getClass().getSimpleName() == "InsertIntoStatement":
        return bool(command.byName())
    if not command.isByName():
        raise UnsupportedError(
            "INSERT WITH SCHEMA EVOLUTION that replaces rows by a condition goes BY NAME.",
            remedy="Write BY NAME behind the table.",
        )
    return True


def _named(frame: DataFrame, columns: Sequence[StructField]) -> DataFrame:
    """Rows under the names of the columns, and of the fields inside, in whose places they stand.

    Raises:
        InvalidInputError: they have fewer columns.
    """
    given = frame.schema.fields
    if len(given) < len(columns):
        raise InvalidInputError(
            f"The rows have {len(given)} columns, and go into {len(columns)}.",
            remedy="Write BY NAME behind the table, or name the columns.",
        )
    kinds = [_like(field.dataType, column.dataType) for field, column in zip(given, columns, strict=False)]
    kinds += [field.dataType for field in given[len(columns) :]]
    names = [column.name for column in columns] + [field.name for field in given[len(columns) :]]
    # A frame may have several columns of one name: they are told apart by their places first.
    places = frame.toDF(*(f"c{i}" for i in range(len(given))))
    picked = [
        (f.col(f"c{i}") if kind == field.dataType else f.col(f"c{i}").cast(kind)).alias(name)
        for i, (field, kind, name) in enumerate(zip(given, kinds, names, strict=True))
    ]
    return places.select(*picked)


def _like(given: DataType, column: DataType) -> DataType:
    """A type whose fields have the names of those in whose places they stand."""
    match given, column:
        case StructType(), StructType():
            named = [
                StructField(to.name, _like(field.dataType, to.dataType), field.nullable)
                for field, to in zip(given.fields, column.fields, strict=False)
            ]
            return StructType([*named, *given.fields[len(named) :]])
        case ArrayType(), ArrayType():
            return ArrayType(_like(given.elementType, column.elementType), given.containsNull)
        case MapType(), MapType():
            key, value = _like(given.keyType, column.keyType), _like(given.valueType, column.valueType)
            return MapType(key, value, given.valueContainsNull)
    return given
