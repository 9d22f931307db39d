"""INSERT with schema evolution: new columns are added to the table, then Spark executes the statement on it.

These are INSERTs BY NAME with ``write.merge-schema``, and INSERTs WITH SCHEMA EVOLUTION. Columns of the latter that are
matched by position get the names of the table's columns and nested fields; further ones retain their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA, WRITE_MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import Option, ScalaMap
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.row_level.target import refusals, relation_of, written_table
from paimon_sql.spark.rules.optimizer import with_parts
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.write.merge_schema import NestedFields, SchemaMerge
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.storage.table.table import Table

_MAP = "org.apache.spark.sql.util.CaseInsensitiveStringMap"
_EVOLUTION_OPTIONS = {WRITE_MERGE_SCHEMA.key: "true", WRITE_MERGE_SCHEMA_TYPE_WIDENING.key: "true"}


@dataclass(frozen=True)
class EvolvingInsertRun:
    """The execution of one statement on one table.

    Attributes:
        session: the session.
        catalog: the table's catalog.
        identifier: the table.
        statement: the statement.
    """

    session: JvmSession
    catalog: Catalog
    identifier: Identifier
    statement: EvolvingInsert

    def run(self) -> None:
        """Merge the rows' columns into the table's schema, and write the rows.

        Raises:
            InvalidInputError: Spark refuses the statement; the message has the position in its text.
            InvalidSchemaError: the schemas cannot be merged.
        """
        merge, command = self._prepared()
        table = merge.apply(self.catalog, replace(self.identifier, branch=merge.table.branch))
        with refusals():
            self.session.frame(self._insert_plan(command, merge, table))

    def explain(self, mode: str) -> str:
        """The schema changes and the plan of the write, without executing them."""
        merge, command = self._prepared()
        plan = self._insert_plan(command, merge, merge.preview())
        plan_text = self.session.explained(self.session.execution(plan), mode)
        changes = "".join(f"{change}\n" for change in merge.changes())
        return f"== INSERT into {self.identifier} ==\n{changes}{plan_text}"

    def _prepared(self) -> tuple[SchemaMerge, LogicalPlan]:
        """The merge of the schemas, and Spark's parsed command, whose rows have names."""
        parsed = self.session.parsed(self.statement.text)
        has_ctes = parsed.getClass().getSimpleName() == "UnresolvedWith"
        command = parsed.child() if has_ctes else parsed
        query = command.query()
        if has_ctes:
            query = parsed.withNewChildren(self.session.jvm.seq([query]))
        with refusals():
            frame = self.session.frame(query)
        table = self._table()
        if not _is_by_name(command):
            frame = _named(frame, self._columns(table, command))
            command = with_parts(self.session.jvm, command, byName=True, userSpecifiedCols=self.session.jvm.nil)
        return SchemaMerge(table, frame, case_sensitive=self.session.case_sensitive), command

    def _columns(self, table: Table, command: LogicalPlan) -> list[StructField]:
        """The columns of the table in the order of the rows' columns.

        Raises:
            InvalidInputError: the statement names a column that the table lacks.
        """
        struct = StructType.fromJson(spark_struct(table.schema.fields))
        folded = NestedFields(self.session.case_sensitive).normalized
        declared = [folded(str(name)) for name in self.session.jvm.items(command.userSpecifiedCols())]
        spec: ScalaMap[str, Option[str]] = command.partitionSpec()
        fixed = {folded(part._1()) for part in self.session.jvm.items(spec.toSeq()) if part._2().isDefined()}
        known = {folded(f.name): f for f in struct.fields if folded(f.name) not in fixed}
        if unknown := [name for name in declared if name not in known]:
            raise InvalidInputError(f"{self.identifier} has no column {unknown[0]} to insert into.")
        return [known[name] for name in declared] or list(known.values())

    def _insert_plan(self, command: LogicalPlan, merge: SchemaMerge, table: Table) -> LogicalPlan:
        """The INSERT into the evolved table, of rows that have all of its nested fields."""
        jvm = self.session.jvm
        relation = relation_of(TableProxy(self.session, table), self.catalog.name, self.identifier)
        options = jvm.new(_MAP, jvm.java_map(self.statement.options))
        rows = merge.rows(table)._jdf.queryExecution().analyzed()
        return with_parts(jvm, command, table=with_parts(jvm, relation, options=options), query=rows)

    def _table(self) -> Table:
        identifier = self.identifier
        if identifier.system_table is not None:
            raise UnsupportedError(f"{identifier} is a system table and cannot be written to.")
        evolution = _EVOLUTION_OPTIONS if self.statement.evolves else {}
        return written_table(self.session, self.catalog, identifier, {**evolution, **self.statement.options})


def _is_by_name(command: LogicalPlan) -> bool:
    """Whether an INSERT matches columns by name.

    Raises:
        UnsupportedError: it replaces rows by a condition, which Spark plans only BY NAME.
    """
    if command.getClass().getSimpleName() == "InsertIntoStatement":
        return bool(command.byName())
    if not command.isByName():
        raise UnsupportedError(
            "INSERT WITH SCHEMA EVOLUTION that replaces rows by a condition is supported only BY NAME.",
            remedy="Add BY NAME after the table name.",
        )
    return True


def _named(frame: DataFrame, columns: Sequence[StructField]) -> DataFrame:
    """The rows with the names of the columns and nested fields at the same positions.

    Raises:
        InvalidInputError: they have fewer columns.
    """
    given = frame.schema.fields
    if len(given) < len(columns):
        raise InvalidInputError(
            f"The rows have {len(given)} columns, but {len(columns)} are required.",
            remedy="Add BY NAME after the table name, or list the columns.",
        )
    kinds = [_like(field.dataType, column.dataType) for field, column in zip(given, columns, strict=False)]
    kinds += [field.dataType for field in given[len(columns) :]]
    names = [column.name for column in columns] + [field.name for field in given[len(columns) :]]
    # A frame may have several columns of one name, so they are renamed by position first.
    by_position = frame.toDF(*(f"c{i}" for i in range(len(given))))
    picked = [
        (f.col(f"c{i}") if kind == field.dataType else f.col(f"c{i}").cast(kind)).alias(name)
        for i, (field, kind, name) in enumerate(zip(given, kinds, names, strict=True))
    ]
    return by_position.select(*picked)


def _like(given: DataType, column: DataType) -> DataType:
    """The given type, with nested fields named as those of the column at the same positions."""
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
