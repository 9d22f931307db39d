"""``CALL sys.alter_view_dialect``: set the query of a view for one engine."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.procedures.base import Context, Done, DryRun, DryRunNoted, Procedure, detail, optional, required

_ENGINE = "spark"


class AlterViewDialect(Procedure):
    """An engine without its own query uses the one that the view was created with."""

    summary = "Add, replace or remove the query of a view for one engine."
    example = "CALL sys.alter_view_dialect('db.v', 'add', 'flink', 'SELECT id FROM t')"

    class Arguments(DryRun, kw_only=True):
        view: str = required("The view: v, db.v or catalog.db.v.")
        action: str = required("add, update or drop.")
        engine: str | None = optional(f"The engine, such as flink; {_ENGINE} by default.")
        query: str | None = optional("The query in that engine's syntax, for add and update.")

    class Result(Done, DryRunNoted, kw_only=True):
        dialects: str | None = detail("the engines that have their own query now")

    def call(self, context: Context, arguments: Arguments) -> Result:
        action, engine = arguments.action.strip().lower(), (arguments.engine or "").strip() or _ENGINE
        query = arguments.query or ""
        if action not in ("add", "update", "drop"):
            raise InvalidInputError(f"A view has no action '{action}'.", remedy="Use add, update or drop.")
        if action != "drop" and not query.strip():
            raise InvalidInputError(f"The action {action} needs a query.")

        def change(view: ViewSchema) -> ViewSchema:
            if action == "drop":
                return view.without_dialect(engine)
            return view.with_dialect(engine, query, is_new=action == "add")

        catalog, identifier = context.locate_object(arguments.view, "view")
        changed = change(catalog.view(identifier)) if arguments.dry_run else catalog.alter_view(identifier, change)
        return self.Result(dialects=", ".join(sorted(changed.dialects)) or None)
