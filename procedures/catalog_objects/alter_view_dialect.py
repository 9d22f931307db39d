"""``CALL sys.alter_view_dialect``: give a view a query of its own for an engine."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.catalog_objects.view import ViewSchema
from paimon_sql.format.schema.types import BooleanType, string_type
from paimon_sql.procedures.base import Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE

_ENGINE = "spark"


class AlterViewDialect(Procedure):
    """Engines read the query that is theirs; one that has none reads the query that the view was made with."""

    name = "alter_view_dialect"
    summary = "Add, replace or take away the query of a view for one engine."
    arguments = (
        Argument("view", string_type(), "The view: v, db.v or catalog.db.v.", required=True),
        Argument("action", string_type(), "add, update or drop.", required=True),
        Argument("engine", string_type(), f"The engine, such as flink; {_ENGINE} by default."),
        Argument("query", string_type(), "The query as that engine writes it, for add and update."),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("dialects", string_type(), "the engines that have a query of their own now"),
        result("note", string_type(), "whether this was a dry run"),
    )
    example = "CALL sys.alter_view_dialect('db.v', 'add', 'flink', 'SELECT id FROM t')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        action, engine = arguments["action"].strip().lower(), (arguments["engine"] or "").strip() or _ENGINE
        query, dry_run = arguments["query"] or "", bool(arguments["dry_run"])
        if action not in ("add", "update", "drop"):
            raise InvalidInputError(f"A view has no action '{action}'.", remedy="Use add, update or drop.")
        if action != "drop" and not query.strip():
            raise InvalidInputError(f"The action {action} needs a query.")

        def change(view: ViewSchema) -> ViewSchema:
            if action == "drop":
                return view.without_dialect(engine)
            return view.with_dialect(engine, query, is_new=action == "add")

        catalog, identifier = context.locate_object(arguments["view"], "view")
        changed = change(catalog.view(identifier)) if dry_run else catalog.alter_view(identifier, change)
        return [(True, ", ".join(sorted(changed.dialects)) or None, NOTHING_DONE if dry_run else None)]
