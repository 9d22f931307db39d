"""Tag DDL and SHOW TAGS."""

from __future__ import annotations

from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.text.durations import parse_duration
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.statements.tags import CreateTag, DeleteTag, RenameTag, ShowTags
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, rename_tag, replace_tag


class RunCreateTag(Runner[CreateTag]):
    """CREATE TAG, REPLACE TAG and CREATE OR REPLACE TAG."""

    def run(self, statement: CreateTag, context: StatementContext) -> None:
        table = context.table(statement.table)
        retained = parse_duration(statement.time_retained) if statement.time_retained else None
        exists = statement.mode == "CREATE OR REPLACE" and table.tags.exists(statement.tag)
        if statement.mode == "REPLACE" or exists:
            replace_tag(table, statement.tag, statement.snapshot, retained)
        else:
            create_tag(
                table, statement.tag, statement.snapshot, retained, ignore_if_exists=bool(statement.if_not_exists)
            )


class RunDeleteTag(Runner[DeleteTag]):
    """DELETE TAG."""

    def run(self, statement: DeleteTag, context: StatementContext) -> None:
        table = context.table(statement.table)
        is_one_tag = table.tags.exists(statement.tag)  # a tag's name may contain commas
        names = (statement.tag,) if is_one_tag else comma_separated(statement.tag)
        if not statement.if_exists:
            for name in names:
                table.tags.get(name)
        delete_tags(table, names)


class RunRenameTag(Runner[RenameTag]):
    """RENAME TAG."""

    def run(self, statement: RenameTag, context: StatementContext) -> None:
        rename_tag(context.table(statement.table), statement.tag, statement.target)


class RunShowTags(Runner[ShowTags]):
    """SHOW TAGS."""

    def run(self, statement: ShowTags, context: StatementContext) -> Answer:
        return Answer.of_names("tag", context.table(statement.table).tags.names())
