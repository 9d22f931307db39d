"""``CALL sys.rename_tag``: give a tag another name."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.types import BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.create_tag import TAG


class RenameTag(Procedure):
    """The tag keeps what it kept; its new name must be free."""

    name = "rename_tag"
    summary = "Give a tag another name."
    arguments = (TABLE, TAG, Argument("target_tag", string_type(), "Its new name.", required=True))
    results = (result("result", BooleanType(), "always true"),)
    example = "CALL sys.rename_tag(table => 'db.t', tag => 'draft', target_tag => 'release')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        context.table(arguments["table"]).tags.rename(arguments["tag"], arguments["target_tag"])
        return [(True,)]
