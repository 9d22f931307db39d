"""Functions that a catalog stores, as Spark's: SQL functions, which Spark inlines into queries, and Java classes.

Spark supports SQL functions only in its own catalog, but accepts from any catalog what its own would return
(Spark: ``V1Function``, since 4.2). So the catalog returns what Spark's own catalog makes of the definition.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import InvalidInputError, NotFoundError, UnsupportedError
from paimon_sql.format.schema.catalog_objects import SQL, Definition, FileResource, FunctionSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.catalog_objects.stored_sql import DIALECT, Origin
from paimon_sql.spark.conversion.types import (
    CURRENT_DEFAULT,
    paimon_fields,
    paimon_type,
    row_struct,
    struct_json,
    struct_of,
    type_json,
)
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import JavaObject, Option, Seq
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.errors import paimon_error_of
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.sql.functions import called_names, with_placeholders
from paimon_sql.sql.types import spark_type as spark_sql_type

T = TypeVar("T")

IS_QUERY = "spark.sql-function.is-query"
DETERMINISTIC = "spark.sql-function.deterministic"
CONTAINS_SQL = "spark.sql-function.contains-sql"
"""Options by which Paimon's connector describes a SQL definition."""

_FUNCTION = f"{CATALYST}.catalog.SQLFunction"
_SETTING = "sqlConfig."
_TEMPORARY = ("referredTempViewNames", "referredTempFunctionsNames", "referredTempVariableNames")
_DEFAULT = "default"
"""The key of a parameter's default value, as SQL, in its metadata."""
_PATH = "function.resolutionPath"
_PATH_SETTING = f"{_SETTING}spark.sql.path.enabled"
_PART = "catalogAndNamespace.part."


@dataclass(frozen=True)
class FunctionMaker:
    """Creates schemas of SQL functions from statements, and Spark's functions from stored schemas.

    Attributes:
        session: the session.
        catalog: the catalog.
    """

    session: JvmSession
    catalog: Catalog

    @property
    def jvm(self) -> Jvm:
        """The JVM."""
        return self.session.jvm

    def schema_of(self, identifier: Identifier, definition: str) -> FunctionSchema:
        """Return the schema of a CREATE FUNCTION statement, which Spark validates as a temporary function.

        Args:
            identifier: the function's name.
            definition: the statement's text after the name.

        Raises:
            UnsupportedError: it returns a table, or this Spark is too old.
            InvalidInputError: it refers to temporary objects, or to itself.
        """
        if not HAS_VIEWS:
            raise UnsupportedError(
                "Functions in a catalog need PySpark 4.2 or newer.", remedy="Use CREATE TEMPORARY FUNCTION."
            )
        own = self.session.state.catalog()
        name = self._free_name(own, identifier.object_name)
        start = f"CREATE OR REPLACE TEMPORARY FUNCTION `{name.replace('`', '``')}` "
        parser = self.session.state.sqlParser()
        command: LogicalPlan = _call_spark(lambda: parser.parsePlan(start + definition))
        if command.getClass().getSimpleName() == "CreateFunctionCommand":
            return self._file_schema(identifier, command)
        if command.isTableFunc():
            raise UnsupportedError(
                f"Function {identifier} cannot return a table in a Paimon catalog.",
                remedy="Use CREATE TEMPORARY FUNCTION, or a view without parameters.",
            )
        # Spark resolves functions that a temporary function calls only in its own catalog.
        called: list[FunctionSchema] = []
        text = start + with_placeholders(definition, lambda callee: self._result_type(callee, called))
        _call_spark(lambda: self.session.java.sql(text))
        try:
            info = own.lookupBuiltinOrTempFunction(name).get()
            made = self.jvm.static(_FUNCTION, "fromExpressionInfo")(info, parser)
        finally:
            own.dropTempFunction(name, True)
        schema = self._sql_schema(identifier, made, command, called)
        self.refuse_recursion(identifier, schema)
        return schema

    def load(self, identifier: Identifier) -> JavaObject:
        """Return Spark's function for one of the catalog.

        Raises:
            NoSuchFunctionError: there is no such function.
            UnsupportedError: it has no definition that Spark can evaluate.
        """
        schema = self.catalog.function(identifier)
        definition = schema.definitions.get(DIALECT)
        if definition is None:
            known = ", ".join(sorted(schema.definitions)) or "any engine"
            raise UnsupportedError(
                f"Function {self.catalog.name}.{identifier} has no definition for Spark (it has one for {known})."
                if schema.definitions
                else f"Function {self.catalog.name}.{identifier} has no definition yet.",
                remedy='Add one: CALL sys.alter_function(\'db.f\', \'{"action": "addDefinition", "name": "spark",'
                ' "definition": {"type": "sql", "definition": "x + 1"}}\').',
            )
        if definition["type"] == SQL:
            self.refuse_recursion(identifier, schema)
            return self._sql_function(identifier, schema, str(definition["definition"]))
        if definition["type"] == "file":
            return self._file_function(identifier, definition)
        raise UnsupportedError(
            f"Function {self.catalog.name}.{identifier} is defined in {definition['language']} source, and no"
            " compiler for it is available.",
            remedy='Set a SQL definition: CALL sys.alter_function with "updateDefinition" and the type "sql".',
        )

    def refuse_recursion(self, identifier: Identifier, schema: FunctionSchema) -> None:
        """Raise InvalidInputError if a function with that definition would call itself, directly or indirectly."""
        pending, seen = [(identifier, schema)], set[Identifier]()
        while pending:
            database, found = pending[-1][0].database, pending.pop()[1]
            origin = Origin.read(found.options, database)
            definition = found.definitions.get(DIALECT, {})
            for name in called_names(str(definition.get("definition", ""))) if definition.get("type") == SQL else ():
                callee = self._callee(name, origin)
                if callee is None or callee in seen:
                    continue
                if (callee.database, callee.table.lower()) == (identifier.database, identifier.table.lower()):
                    raise InvalidInputError(f"Function {self.catalog.name}.{identifier} calls itself.")
                seen.add(callee)
                if self.catalog.function_name(callee) is not None:
                    pending.append((callee, self.catalog.function(callee)))

    def _result_type(self, name: tuple[str, ...], called: list[FunctionSchema]) -> str | None:
        """The SQL type of a called function's result, and append its schema to ``called``; None if it is not ours."""
        manager = self.session.state.catalogManager()
        callee = self._callee(name, Origin(manager.currentCatalog().name(), ".".join(manager.currentNamespace())))
        if callee is None or self.catalog.function_name(callee) is None:
            return None
        function = self.catalog.function(callee)
        if not function.returns:
            return None
        called.append(function)
        return spark_sql_type(function.returns[0].type)

    def _callee(self, name: tuple[str, ...], origin: Origin) -> Identifier | None:
        """The function of this catalog that a name may mean; None if none. Spark's built-in ones precede bare names."""
        is_current = origin.catalog in (None, self.catalog.name)
        if len(name) == 3:
            return Identifier(name[1], name[2]) if name[0] == self.catalog.name else None
        if len(name) > 3 or not is_current or name[0].lower() == SYSTEM_DATABASE:
            return None
        if len(name) == 1 and self.session.state.catalog().isBuiltinFunction(name[0]):
            return None
        return Identifier(name[0] if len(name) == 2 else origin.database, name[-1])

    def _free_name(self, own: JavaObject, name: str) -> str:
        """An unused name for a temporary function: the function's own if possible, as Spark's errors show it."""
        while own.isBuiltinFunction(name) or own.lookupBuiltinOrTempFunction(name).isDefined():
            name += "_"
        return name

    def _sql_schema(
        self, identifier: Identifier, made: JavaObject, command: LogicalPlan, called: list[FunctionSchema]
    ) -> FunctionSchema:
        """The schema to store: the SQL text from ``command``, the analyzed properties from ``made``."""
        properties = self.jvm.strings_map(self.jvm.as_map(made.properties()))
        for key in _TEMPORARY:
            if names := json.loads(properties.get(key, "[]")):
                raise InvalidInputError(
                    f"Function {identifier} refers to temporary objects: {', '.join(map(_joined, names))}.",
                    remedy="Use CREATE TEMPORARY FUNCTION.",
                )
        catalog, *namespace = (
            properties[f"{_PART}{i}"] for i in range(int(properties["catalogAndNamespace.numParts"]))
        )
        settings = {k.removeprefix(_SETTING): v for k, v in properties.items() if k.startswith(_SETTING)}
        origin = Origin.of(catalog, namespace, settings, self.catalog.name)
        is_query = bool(command.exprText().isEmpty())
        deterministic = _is(made.deterministic(), True) and all(f.deterministic for f in called)
        reads = not _is(made.containsSQL(), True) or any(f.options.get(CONTAINS_SQL) == "false" for f in called)
        options = {IS_QUERY: _text(is_query), DETERMINISTIC: _text(deterministic), CONTAINS_SQL: _text(not reads)}
        parameters = struct_json(made.inputParam().get()) if made.inputParam().isDefined() else struct_of(())
        defaults = [f["metadata"].get(_DEFAULT) for f in parameters["fields"]]
        result = type_json(made.getScalarFuncReturnType())
        body = str((command.queryText() if is_query else command.exprText()).get())
        return FunctionSchema(
            parameters=tuple(
                replace(f, id=i, default=None if default is None else str(default))
                for i, (f, default) in enumerate(zip(paimon_fields(parameters), defaults, strict=True))
            ),
            returns=(DataField(0, identifier.object_name, paimon_type(result)),),
            definitions={DIALECT: {"type": SQL, "definition": body}},
            deterministic=deterministic,
            comment=str(made.comment().get()) if made.comment().isDefined() else None,
            options=options | origin.options(),
        )

    def _file_schema(self, identifier: Identifier, command: LogicalPlan) -> FunctionSchema:
        listed: Seq[JavaObject] = command.resources()
        resources: list[FileResource] = [
            {"resourceType": str(r.resourceType().resourceType()).upper(), "uri": str(r.uri())}
            for r in self.jvm.items(listed)
        ]
        definition: Definition = {
            "type": "file",
            "fileResources": resources,
            "language": "JAVA",
            "className": str(command.className()),
            "functionName": identifier.object_name,
        }
        return FunctionSchema((), (), {DIALECT: definition})

    def _sql_function(self, identifier: Identifier, schema: FunctionSchema, body: str) -> JavaObject:
        if not schema.returns:
            raise InvalidInputError(f"Function {self.catalog.name}.{identifier} does not declare a return type.")
        jvm, origin, options = self.jvm, Origin.read(schema.options, identifier.database), schema.options
        namespace = jvm.seq([origin.database])
        context = jvm.static(_FUNCTION, "catalogAndNamespaceToProps")(origin.catalog or self.catalog.name, namespace)
        properties = jvm.strings_map(jvm.as_map(context)) | {_SETTING + k: v for k, v in origin.settings.items()}
        # Spark resolves names in a body in the context of the call, unless the function has a resolution path.
        path = [["system", "builtin"], [origin.catalog or self.catalog.name, origin.database]]
        properties |= {_PATH: json.dumps(path), _PATH_SETTING: "true"}
        is_query = options[IS_QUERY] == "true" if IS_QUERY in options else self._is_query(body)
        struct = row_struct(schema.parameters)
        for described, parameter in zip(struct["fields"], schema.parameters, strict=True):
            described["metadata"].pop(CURRENT_DEFAULT, None)
            if parameter.default is not None:
                described["metadata"][_DEFAULT] = parameter.default
        result = row_struct(schema.returns)["fields"][0]["type"]
        ident = self._spark_identifier(identifier)
        function = jvm.new(
            _FUNCTION,
            ident,
            jvm.some(jvm.struct(struct)) if schema.parameters else jvm.none,
            jvm.new("scala.util.Left", jvm.struct(result)),
            jvm.none if is_query else jvm.some(body),
            jvm.some(body) if is_query else jvm.none,
            jvm.none if schema.comment is None else jvm.some(schema.comment),
            jvm.none,
            jvm.some(schema.deterministic),
            jvm.some(options[CONTAINS_SQL] == "true") if CONTAINS_SQL in options else jvm.none,
            False,
            jvm.scala_map(jvm.java_map(properties)),
            jvm.none,
            0,
        )
        return self._from_session_catalog(ident, lambda own: own.registerSQLScalarFunction(function, True))

    def _file_function(self, identifier: Identifier, definition: Definition) -> JavaObject:
        jvm = self.jvm
        kinds = jvm.cls(f"{CATALYST}.catalog.FunctionResourceType")
        resources = jvm.seq(
            jvm.new(f"{CATALYST}.catalog.FunctionResource", kinds.fromString(str(r["resourceType"]).lower()), r["uri"])
            for r in definition["fileResources"]
        )
        ident = self._spark_identifier(identifier)
        made = jvm.new(f"{CATALYST}.catalog.CatalogFunction", ident, definition["className"], resources)

        def register(own: JavaObject) -> None:
            own.loadFunctionResources(resources)
            own.registerFunction(made, True, jvm.none)

        return self._from_session_catalog(ident, register)

    def _from_session_catalog(self, ident: JavaObject, register: Callable[[JavaObject], object]) -> JavaObject:
        """Return Spark's ``V1Function`` of a function by registering it temporarily in Spark's own catalog."""
        own, registry = self.session.state.catalog(), self.session.state.functionRegistry()
        _call_spark(lambda: register(own))
        try:
            info, builder = registry.lookupFunction(ident).get(), registry.lookupFunctionBuilder(ident).get()
        finally:
            own.unregisterFunction(ident)
        return self.jvm.static("org.apache.spark.sql.internal.connector.V1Function", "apply")(info, builder)

    def _spark_identifier(self, identifier: Identifier) -> JavaObject:
        database, catalog = self.jvm.some(identifier.database), self.jvm.some(self.catalog.name)
        return self.jvm.new(f"{CATALYST}.FunctionIdentifier", identifier.object_name, database, catalog)

    def _is_query(self, body: str) -> bool:
        """Whether a body is a query, by its first word: no expression begins with one of these."""
        first = body.lstrip("( \t\r\n").split(None, 1)
        if not first:
            raise NotFoundError("The function's definition is blank.", name="definition")
        return first[0].upper() in ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


def _call_spark(action: Callable[[], T]) -> T:
    """Call Spark; its errors become InvalidInputError of one line, as callers must not raise checked exceptions."""
    try:
        return action()
    except (CapturedException, Py4JJavaError) as error:
        raise paimon_error_of(error) or InvalidInputError(str(error).split("\n", 1)[0].rstrip("; ")) from None


def _is(option: Option[bool], default: bool) -> bool:
    return option.get() if option.isDefined() else default


def _joined(name: str | list[str]) -> str:
    return name if isinstance(name, str) else ".".join(name)


def _text(value: bool) -> str:
    return "true" if value else "false"
