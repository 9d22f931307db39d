"""Schema evolution: columns and nested fields that a table lacks are added before an INSERT, UPDATE or MERGE runs.

INSERTs with schema evolution are those BY NAME with ``write.merge-schema``, and INSERTs WITH SCHEMA EVOLUTION. Columns
of the latter that are matched by position get the names of the table's columns and nested fields; further ones retain
their names. Then Spark executes the statement on the new schema.

``WITH SCHEMA EVOLUTION`` or the option ``write.merge-schema`` requests it of an UPDATE or MERGE. ``*`` then means the
columns of the source: an update retains the values of other columns and nested fields, an insert sets them to NULL or
their default.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.engines.spark import (
    WRITE_MERGE_SCHEMA,
    WRITE_MERGE_SCHEMA_EXPLICIT_CAST,
    WRITE_MERGE_SCHEMA_TYPE_WIDENING,
)
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import Option, ScalaMap
from paimon_sql.spark.jvm.errors import refusals
from paimon_sql.spark.jvm.gateway import OPTIONS_MAP
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.row_level.target import StatementRun, relation_of, without_ctes
from paimon_sql.spark.rules.optimizer import with_parts
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.write.merge_schema import NestedFields, SchemaMerge, altered
from paimon_sql.sql.statements.insert import EvolvingInsert
from paimon_sql.sql.statements.rows import Assignment, MergeClause, MergeInto, RowStatement, Update
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.incoming import IncomingColumns
from paimon_sql.storage.table.table import Table

_EVOLUTION_OPTIONS = {WRITE_MERGE_SCHEMA.key: "true", WRITE_MERGE_SCHEMA_TYPE_WIDENING.key: "true"}


@dataclass(frozen=True)
class EvolvingInsertRun(StatementRun):
    """The execution of an INSERT with schema evolution.

    Attributes:
        statement: the statement.
    """

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
        jvm = self.session.jvm
        command, with_ctes = without_ctes(jvm, self.session.parsed(self.statement.text))
        with refusals():
            frame = self.session.frame(with_ctes(command.query()))
        evolution = _EVOLUTION_OPTIONS if self.statement.evolves else {}
        table = self.table({**evolution, **self.statement.options}, " and cannot be written to")
        if not _is_by_name(command):
            frame = _named(frame, self._columns(table, command))
            command = with_parts(jvm, command, byName=True, userSpecifiedCols=jvm.nil)
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
        options = jvm.new(OPTIONS_MAP, jvm.java_map(self.statement.options))
        rows = merge.rows(table)._jdf.queryExecution().analyzed()
        return with_parts(jvm, command, table=with_parts(jvm, relation, options=options), query=rows)


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
        (col(f"c{i}") if kind == field.dataType else col(f"c{i}").cast(kind)).alias(name)
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


@dataclass(frozen=True)
class EvolvingChange(ABC):
    """A statement with schema evolution, to be rewritten so that its values have all fields of their columns.

    Attributes:
        session: the session.
        statement: an UPDATE or a MERGE.
        table: the existing table with the options of the statement.
    """

    session: JvmSession
    statement: Update | MergeInto
    table: Table

    @cached_property
    def nested(self) -> NestedFields:
        """The alignment of fields by the session's rules for names."""
        return NestedFields(self.session.case_sensitive)

    @property
    @abstractmethod
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        """The columns that the statement sets, in groups that are merged into the schema one after the other."""

    @property
    def widens(self) -> bool:
        """Whether columns are widened to the types of values."""
        return bool(self.table.options.get(WRITE_MERGE_SCHEMA_TYPE_WIDENING))

    @abstractmethod
    def text(self, target: Table) -> str:
        """The rewritten statement in Spark's grammar.

        Args:
            target: the table with the merged schema.
        """

    def evolved(self, schema: TableSchema, *, has_data: bool) -> TableSchema:
        """The schema merged with the statement's columns; the same object if nothing changes."""
        casts = self.table.options.get(WRITE_MERGE_SCHEMA_EXPLICIT_CAST)
        exact = self.nested.case_sensitive
        rules = IncomingColumns(self.widens, casts, exact, lenient=True)
        version = schema.id + 1
        for group in self.incoming:
            changes = rules.changes(schema.fields, group)
            changed = apply_changes(schema, changes, has_data=has_data, case_sensitive=exact)
            schema = replace(changed, id=version) if changed is not schema else schema
        return schema

    def _columns(
        self, assignments: Sequence[Assignment], scope: str, new: Sequence[DataField] = ()
    ) -> list[DataField | None]:
        """For each assignment the column that it sets, with the type of its value.

        None if it sets only a field of a column, or is invalid; then Spark raises the error later.

        Args:
            assignments: the assignments.
            scope: the FROM clause for the values.
            new: the columns that the table may get.
        """
        existing = {self.nested.normalized(f.name): f for f in self.table.schema.fields}
        others = {self.nested.normalized(f.name): f for f in new}
        names = [self.nested.normalized(self._column(a) or "") for a in assignments]
        known = [n in existing and a.value.upper() != "DEFAULT" for n, a in zip(names, assignments, strict=True)]
        values = [
            f"{a.value} AS {quote_name(existing[n].name)}"
            for n, a, is_known in zip(names, assignments, known, strict=True)
            if is_known
        ]
        try:
            typed = iter(self._types(values, scope) if values else ())
        except InvalidInputError:
            return [None] * len(names)
        # A name in neither is invalid.
        return [
            next(typed) if is_known else (None if n in existing else others.get(n))
            for n, is_known in zip(names, known, strict=True)
        ]

    def _pairs_of(
        self, assignments: Sequence[Assignment], assigned: Sequence[DataField | None], target: Table
    ) -> list[tuple[str, str]]:
        """The columns and values of assignments; values have all fields of their columns.

        Args:
            assignments: the assignments.
            assigned: their columns, from `_columns`.
            target: the table with the merged schema.
        """
        fields = {self.nested.normalized(f.name): f for f in target.schema.fields}
        pairs = []
        for a, field in zip(assignments, assigned, strict=True):
            value = a.value
            known = fields.get(self.nested.normalized(field.name)) if field is not None else None
            if field is not None and known is not None:
                inner = self.nested.filled("x", field.type, known.type)
                # A lambda, so that Spark evaluates the value once.
                value = value if inner == "x" else f"element_at(transform(array({value}), x -> {inner}), 1)"
            pairs.append((".".join(quote_name(part) for part in a.column), value))
        return pairs

    def _column(self, assignment: Assignment) -> str | None:
        """The name of the column that is set; None if the assignment sets a field of a column."""
        *qualifier, name = assignment.column
        full = [self.statement.alias] if self.statement.alias else list(self.statement.table)
        is_of_target = [self.nested.normalized(part) for part in qualifier] == [
            self.nested.normalized(p) for p in full[len(full) - len(qualifier) :]
        ]
        return name if is_of_target else None

    def _types(self, values: Sequence[str], scope: str) -> tuple[DataField, ...]:
        """The columns of a query of values.

        Raises:
            InvalidInputError: Spark cannot analyze it.
        """
        parsed = self.session.parsed(f"{self.statement.ctes} SELECT {', '.join(values)} {scope}")
        with refusals():
            struct = self.session.frame(parsed).schema.json()
        return self.nested.incoming(json.loads(struct), self.table.schema.fields, "the source")

    def _name(self) -> str:
        """The table's name in the statement's text."""
        return ".".join(quote_name(part) for part in self.statement.table)

    def _target(self) -> str:
        """The table with its alias."""
        alias = self.statement.alias
        return f"{self._name()} AS {quote_name(alias)}" if alias else self._name()

    def _target_name(self) -> str:
        """The qualifier of the table's columns."""
        return quote_name(self.statement.alias) if self.statement.alias else self._name()


_SOURCE = "__source"


@dataclass(frozen=True)
class EvolvingMerge(EvolvingChange):
    """A MERGE with schema evolution, to be rewritten to one that names all of its columns."""

    statement: MergeInto

    @cached_property
    def source(self) -> tuple[DataField, ...]:
        """The columns of the source."""
        return self._types(["*"], f"FROM {self._source()}")

    @property
    def widens(self) -> bool:
        return self.statement.schema_evolution or super().widens

    @cached_property
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        clauses = self.statement.clauses
        groups = [self.source] if any(c.action.endswith("*") for c in clauses) else []
        return groups + [(f,) for clause in clauses for f in self._assigned[clause] if f is not None]

    def text(self, target: Table) -> str:
        s = self.statement
        clauses = " ".join(self._clause(c, target) for c in s.clauses)
        return f"{s.ctes} MERGE INTO {self._target()} USING {self._source()} ON {s.on} {clauses}"

    @cached_property
    def _assigned(self) -> dict[MergeClause, list[DataField | None]]:
        # Only columns of the source may be new.
        return {c: self._columns(c.assignments, self._scope(c), self.source) for c in self.statement.clauses}

    def _scope(self, clause: MergeClause) -> str:
        """The FROM clause for the values of a clause."""
        if clause.rows == "MATCHED":
            return f"FROM {self._target()} CROSS JOIN {self._source()}"
        return f"FROM {self._source() if clause.rows == 'NOT MATCHED' else self._target()}"

    def _clause(self, clause: MergeClause, target: Table) -> str:
        condition = f" AND {clause.condition}" if clause.condition else ""
        pairs = self._pairs(clause, target)
        if clause.action == "DELETE":
            action = "DELETE"
        elif clause.action.startswith("UPDATE"):
            action = f"UPDATE SET {', '.join(f'{c} = {v}' for c, v in pairs)}"
        else:
            action = f"INSERT ({', '.join(c for c, _ in pairs)}) VALUES ({', '.join(v for _, v in pairs)})"
        return f"WHEN {clause.rows}{condition} THEN {action}"

    def _pairs(self, clause: MergeClause, target: Table) -> list[tuple[str, str]]:
        """The columns and values of a clause; values have all fields of their columns."""
        if not clause.action.endswith("*"):
            return self._pairs_of(clause.assignments, self._assigned[clause], target)
        own = {self.nested.normalized(f.name): f for f in target.schema.fields}
        pairs = []
        updates = clause.action.startswith("UPDATE")
        for f in self.source:
            column = own[self.nested.normalized(f.name)]
            value = f"{self._source_name()}.{quote_name(f.name)}"
            old_value = f"{self._target_name()}.{quote_name(column.name)}" if updates else None
            pairs.append((quote_name(column.name), self.nested.filled(value, f.type, column.type, old_value)))
        if not updates:
            given = {self.nested.normalized(f.name) for f in self.source}
            # NULL for a required column fails only if a row is inserted; a missing column would fail the statement.
            missing = [f for name, f in own.items() if name not in given and not f.type.nullable and f.default is None]
            pairs += [(quote_name(f.name), "NULL") for f in missing]
        return pairs

    def _source(self) -> str:
        s = self.statement
        if s.source_alias:
            return f"{self._relation()} AS {s.source_alias}"
        return f"{self._relation()} AS {_SOURCE}" if s.source.startswith("(") else s.source

    def _relation(self) -> str:
        source = self.statement.source
        return source if source.startswith("(") else f"(SELECT * FROM {source})"

    def _source_name(self) -> str:
        s = self.statement
        if s.source_alias:
            return s.source_alias.split("(")[0].strip()
        return _SOURCE if s.source.startswith("(") else s.source


@dataclass(frozen=True)
class EvolvingUpdate(EvolvingChange):
    """An UPDATE with schema evolution: columns that it sets get the new fields of their values."""

    statement: Update

    @property
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        return [(field,) for field in self._assigned if field is not None]

    def text(self, target: Table) -> str:
        s = self.statement
        pairs = ", ".join(f"{c} = {v}" for c, v in self._pairs_of(s.assignments, self._assigned, target))
        where = f" WHERE {s.where}" if s.where else ""
        return f"{s.ctes} UPDATE {self._target()} SET {pairs}{where}"

    @cached_property
    def _assigned(self) -> list[DataField | None]:
        return self._columns(self.statement.assignments, f"FROM {self._target()}")


def evolve(
    session: JvmSession, catalog: Catalog, identifier: Identifier, table: Table, statement: RowStatement
) -> tuple[Table, str]:
    """Add a statement's new columns to its table; return the table and the statement's text for it.

    Nothing changes unless the statement or an option requests schema evolution.
    """
    evolves = table.options.get(WRITE_MERGE_SCHEMA) or getattr(statement, "schema_evolution", False)
    if not isinstance(statement, MergeInto | Update) or not evolves:
        return table, statement.text
    if isinstance(statement, MergeInto):
        change: EvolvingChange = EvolvingMerge(session, statement, table)
    else:
        change = EvolvingUpdate(session, statement, table)
    has_data = table.snapshots.latest_id() is not None
    if change.evolved(table.schema, has_data=has_data) is not table.schema:
        table = altered(catalog, identifier, table, lambda schema: change.evolved(schema, has_data=has_data))
    return table, change.text(table)
