"""Functions that a catalog keeps, as Spark's: those of SQL are put into the query that calls them.

Spark knows functions of SQL in its own catalog only, but asks any catalog for functions and takes from it what it would
take from its own (``V1Function``, since 4.2). So the catalog hands out what Spark's own would make of the definition.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import InvalidInputError, NotFoundError, UnsupportedError
from paimon_sql.format.function import SQL, FunctionSchema
from paimon_sql.format.types import DataField
from paimon_sql.spark.compat import HAS_VIEWS
from paimon_sql.spark.crossed_errors import error_behind
from paimon_sql.spark.java import CATALYST, Jvm
from paimon_sql.spark.origins import Origin
from paimon_sql.spark.types import CURRENT_DEFAULT, paimon_fields, paimon_type, row_struct
from paimon_sql.spark.views import DIALECT
from paimon_sql.sql.calls import called_names, with_stand_ins
from paimon_sql.sql.types import spark_type as spark_sql_type

T = TypeVar("T")

IS_QUERY = "spark.sql-function.is-query"
DETERMINISTIC = "spark.sql-function.deterministic"
CONTAINS_SQL = "spark.sql-function.contains-sql"
"""Options by which Paimon's connector says what it knows of a definition of SQL."""

_FUNCTION = f"{CATALYST}.catalog.SQLFunction"
_SETTING = "sqlConfig."
_TEMPORARY = ("referredTempViewNames", "referredTempFunctionsNames", "referredTempVariableNames")
_DEFAULT = "default"
"""Where a parameter's metadata hold its default value, as SQL."""
_PATH = "function.resolutionPath"
_PATH_SETTING = f"{_SETTING}spark.sql.path.enabled"
_PART = "catalogAndNamespace.part."


@dataclass(frozen=True)
class FunctionMaker:
    """Makes functions of SQL out of text, and Spark's functions out of what a catalog keeps.

    Attributes:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the catalog.
    """

    jvm: Jvm
    session: Any
    catalog: Catalog

    def schema_of(self, identifier: Identifier, definition: str) -> FunctionSchema:
        """What a CREATE FUNCTION statement defines; Spark checks it as it does a temporary function.

        Args:
            identifier: the function's name.
            definition: the statement's text behind the name.

        Raises:
            UnsupportedError: it gives back a table, or this Spark is too old.
            InvalidInputError: it needs something temporary, or itself.
        """
        if not HAS_VIEWS:
            raise UnsupportedError(
                "Functions in a catalog need PySpark 4.2 or newer.", remedy="Make it a TEMPORARY FUNCTION."
            )
        own = self.session.sessionState().catalog()
        name = self._free_name(own, identifier.object_name)
        start = f"CREATE OR REPLACE TEMPORARY FUNCTION `{name.replace('`', '``')}` "
        parser = self.session.sessionState().sqlParser()
        command = _told(lambda: parser.parsePlan(start + definition))
        if command.getClass().getSimpleName() == "CreateFunctionCommand":
            return self._file_schema(identifier, command)
        if command.isTableFunc():
            raise UnsupportedError(
                f"Function {identifier} cannot give back a table in a catalog of Paimon.",
                remedy="Make it a TEMPORARY FUNCTION, or a view without parameters.",
            )
        # Spark would look for functions that a temporary one calls in its own catalog only.
        called: list[FunctionSchema] = []
        text = start + with_stand_ins(definition, lambda callee: self._result_type(callee, called))
        _told(lambda: self.session.sql(text))
        try:
            info = own.lookupBuiltinOrTempFunction(name).get()
            made = self.jvm.static(_FUNCTION, "fromExpressionInfo")(info, parser)
        finally:
            own.dropTempFunction(name, True)
        schema = self._sql_schema(identifier, made, command, called)
        self.refuse_recursion(identifier, schema)
        return schema

    def load(self, identifier: Identifier) -> Any:
        """Spark's function for one that the catalog keeps.

        Raises:
            NoSuchFunctionError: there is none.
            UnsupportedError: its definition is none that Spark can work out here.
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
            f"Function {self.catalog.name}.{identifier} is defined in {definition['language']} source, which needs a"
            " compiler that is not here.",
            remedy='Give it a definition of SQL: CALL sys.alter_function with "updateDefinition" and the type "sql".',
        )

    def refuse_recursion(self, identifier: Identifier, schema: FunctionSchema) -> None:
        """InvalidInputError if a function of that definition would call itself, directly or by others."""
        waiting, seen = [(identifier, schema)], set[Identifier]()
        while waiting:
            database, found = waiting[-1][0].database, waiting.pop()[1]
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
                    waiting.append((callee, self.catalog.function(callee)))

    def _result_type(self, name: tuple[str, ...], called: list[FunctionSchema]) -> str | None:
        """What a function of the catalog gives back, by the name of a call; ``called`` takes it in."""
        manager = self.session.sessionState().catalogManager()
        callee = self._callee(name, Origin(manager.currentCatalog().name(), ".".join(manager.currentNamespace())))
        if callee is None or self.catalog.function_name(callee) is None:
            return None
        function = self.catalog.function(callee)
        if not function.returns:
            return None
        called.append(function)
        return spark_sql_type(function.returns[0].type)

    def _callee(self, name: tuple[str, ...], origin: Origin) -> Identifier | None:
        """The function of this catalog that a name may stand for; Spark's own come first where a name is all."""
        here = origin.catalog in (None, self.catalog.name)
        if len(name) == 3:
            return Identifier(name[1], name[2]) if name[0] == self.catalog.name else None
        if len(name) > 3 or not here or name[0].lower() == SYSTEM_DATABASE:
            return None
        if len(name) == 1 and self.session.sessionState().catalog().isBuiltinFunction(name[0]):
            return None
        return Identifier(name[0] if len(name) == 2 else origin.database, name[-1])

    def _free_name(self, own: Any, name: str) -> str:
        """A name for a temporary function that is no other's: the function's own if it can be, for Spark's errors."""
        while own.isBuiltinFunction(name) or own.lookupBuiltinOrTempFunction(name).isDefined():
            name += "_"
        return name

    def _sql_schema(
        self, identifier: Identifier, made: Any, command: Any, called: list[FunctionSchema]
    ) -> FunctionSchema:
        """What the catalog keeps of a function: the text as ``command`` has it, what Spark found out as ``made``."""
        properties = self.jvm.texts(self.jvm.as_java(made.properties()))
        for key in _TEMPORARY:
            if names := json.loads(properties.get(key, "[]")):
                raise InvalidInputError(
                    f"Function {identifier} needs {', '.join(map(_joined, names))}, which only this session has.",
                    remedy="Make it a TEMPORARY FUNCTION too.",
                )
        catalog, *namespace = (
            properties[f"{_PART}{i}"] for i in range(int(properties["catalogAndNamespace.numParts"]))
        )
        settings = {k.removeprefix(_SETTING): v for k, v in properties.items() if k.startswith(_SETTING)}
        origin = Origin.of(catalog, namespace, settings, self.catalog.name)
        is_query = command.exprText().isEmpty()
        deterministic = _is(made.deterministic(), True) and all(f.deterministic for f in called)
        reads = not _is(made.containsSQL(), True) or any(f.options.get(CONTAINS_SQL) == "false" for f in called)
        options = {IS_QUERY: _text(is_query), DETERMINISTIC: _text(deterministic), CONTAINS_SQL: _text(not reads)}
        parameters = json.loads(made.inputParam().get().json()) if made.inputParam().isDefined() else {"fields": []}
        defaults = [f["metadata"].get(_DEFAULT) for f in parameters["fields"]]
        result = json.loads(made.getScalarFuncReturnType().json())
        body = str((command.queryText() if is_query else command.exprText()).get())
        return FunctionSchema(
            parameters=tuple(
                replace(f, id=i, default=default)
                for i, (f, default) in enumerate(zip(paimon_fields(parameters), defaults, strict=True))
            ),
            returns=(DataField(0, identifier.object_name, paimon_type(result)),),
            definitions={DIALECT: {"type": SQL, "definition": body}},
            deterministic=deterministic,
            comment=str(made.comment().get()) if made.comment().isDefined() else None,
            options=options | origin.options(),
        )

    def _file_schema(self, identifier: Identifier, command: Any) -> FunctionSchema:
        resources = [
            {"resourceType": str(r.resourceType().resourceType()).upper(), "uri": str(r.uri())}
            for r in self.jvm.items(command.resources())
        ]
        definition = {
            "type": "file",
            "fileResources": resources,
            "language": "JAVA",
            "className": str(command.className()),
            "functionName": identifier.object_name,
        }
        return FunctionSchema((), (), {DIALECT: definition})

    def _sql_function(self, identifier: Identifier, schema: FunctionSchema, body: str) -> Any:
        if not schema.returns:
            raise InvalidInputError(f"Function {self.catalog.name}.{identifier} does not say what it gives back.")
        jvm, origin, options = self.jvm, Origin.read(schema.options, identifier.database), schema.options
        namespace = jvm.seq([origin.database])
        made = jvm.static(_FUNCTION, "catalogAndNamespaceToProps")(origin.catalog or self.catalog.name, namespace)
        properties = jvm.texts(jvm.as_java(made)) | {_SETTING + k: v for k, v in origin.settings.items()}
        # Spark looks for names in a body where it is called, unless the function brings a path of its own.
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
            jvm.some(jvm.struct(json.dumps(struct))) if schema.parameters else jvm.none,
            jvm.new("scala.util.Left", jvm.struct(json.dumps(result))),
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
        return self._handed_out(ident, lambda own: own.registerSQLScalarFunction(function, True))

    def _file_function(self, identifier: Identifier, definition: Any) -> Any:
        jvm = self.jvm
        kinds = jvm.cls(f"{CATALYST}.catalog.FunctionResourceType")
        resources = jvm.seq(
            jvm.new(f"{CATALYST}.catalog.FunctionResource", kinds.fromString(str(r["resourceType"]).lower()), r["uri"])
            for r in definition["fileResources"]
        )
        ident = self._spark_identifier(identifier)
        made = jvm.new(f"{CATALYST}.catalog.CatalogFunction", ident, definition["className"], resources)

        def register(own: Any) -> None:
            own.loadFunctionResources(resources)
            own.registerFunction(made, True, jvm.none)

        return self._handed_out(ident, register)

    def _handed_out(self, ident: Any, register: Callable[[Any], None]) -> Any:
        """What Spark's own catalog would give for a function, which is registered there for a moment only."""
        own, registry = self.session.sessionState().catalog(), self.session.sessionState().functionRegistry()
        _told(lambda: register(own))
        try:
            info, builder = registry.lookupFunction(ident).get(), registry.lookupFunctionBuilder(ident).get()
        finally:
            own.unregisterFunction(ident)
        return self.jvm.static("org.apache.spark.sql.internal.connector.V1Function", "apply")(info, builder)

    def _spark_identifier(self, identifier: Identifier) -> Any:
        database, catalog = self.jvm.some(identifier.database), self.jvm.some(self.catalog.name)
        return self.jvm.new(f"{CATALYST}.FunctionIdentifier", identifier.object_name, database, catalog)

    def _is_query(self, body: str) -> bool:
        """Whether a body is a query: its first word tells, since no expression begins so."""
        first = body.lstrip("( \t\r\n").split(None, 1)
        if not first:
            raise NotFoundError("The function's definition is blank.", name="definition")
        return first[0].upper() in ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


def _told(action: Callable[[], T]) -> T:
    """What Spark answers; an error of its own is told in one line, since our callers may raise no checked one."""
    try:
        return action()
    except (CapturedException, Py4JJavaError) as error:
        raise error_behind(error) or InvalidInputError(str(error).split("\n", 1)[0].rstrip("; ")) from None


def _is(option: Any, default: bool) -> bool:
    return bool(option.get()) if option.isDefined() else default


def _joined(name: Any) -> str:
    return name if isinstance(name, str) else ".".join(name)


def _text(value: bool) -> str:
    return "true" if value else "false"
