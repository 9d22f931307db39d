"""DDL of tags and branches, SHOW TAGS and SHOW BRANCHES."""

from __future__ import annotations

from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.text.durations import parse_duration
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.statements import tags as sql
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, rename_tag, replace_tag


class RunCreateTag(Runner[sql.CreateTag]):
    """CREATE TAG, REPLACE TAG and CREATE OR REPLACE TAG."""

    def run(self, statement: sql.CreateTag, context: StatementContext) -> None:
        table = context.table(statement.table)
        retained = parse_duration(statement.time_retained) if statement.time_retained else None
        exists = statement.mode == "CREATE OR REPLACE" and table.tags.exists(statement.tag)
        if statement.mode == "REPLACE" or exists:
            replace_tag(table, statement.tag, statement.snapshot, retained)
        else:
            create_tag(
                table, statement.tag, statement.snapshot, retained, ignore_if_exists=bool(statement.if_not_exists)
            )


class RunDeleteTag(Runner[sql.DeleteTag]):
    """DELETE TAG."""

    def run(self, statement: sql.DeleteTag, context: StatementContext) -> None:
        table = context.table(statement.table)
        is_one_tag = table.tags.exists(statement.tag)  # a tag's name may contain commas
        names = (statement.tag,) if is_one_tag else comma_separated(statement.tag)
        if not statement.if_exists:
            for name in names:
                table.tags.get(name)
        delete_tags(table, names)


class RunRenameTag(Runner[sql.RenameTag]):
    """RENAME TAG."""

    def run(self, statement: sql.RenameTag, context: StatementContext) -> None:
        rename_tag(context.table(statement.table), statement.tag, statement.target)


class RunShowTags(Runner[sql.ShowTags]):
    """SHOW TAGS."""

    def run(self, statement: sql.ShowTags, context: StatementContext) -> Answer:
        return Answer.of_names("tag", context.table(statement.table).tags.names())


class RunCreateBranch(Runner[sql.CreateBranch]):
    """CREATE BRANCH."""

    def run(self, statement: sql.CreateBranch, context: StatementContext) -> None:
        create_branch(
            context.table(statement.table),
            statement.branch,
            tag=statement.tag,
            snapshot_id=statement.snapshot,
            ignore_if_exists=statement.if_not_exists,
        )


class RunDeleteBranch(Runner[sql.DeleteBranch]):
    """DELETE BRANCH and DROP BRANCH."""

    def run(self, statement: sql.DeleteBranch, context: StatementContext) -> None:
        table = context.table(statement.table)
        names = comma_separated(statement.branch)
        delete_branches(table, [n for n in names if not statement.if_exists or table.branches.exists(n)])


class RunRenameBranch(Runner[sql.RenameBranch]):
    """RENAME BRANCH."""

    def run(self, statement: sql.RenameBranch, context: StatementContext) -> None:
        rename_branch(context.table(statement.table), statement.branch, statement.target)


class RunShowBranches(Runner[sql.ShowBranches]):
    """SHOW BRANCHES."""

    def run(self, statement: sql.ShowBranches, context: StatementContext) -> Answer:
        return Answer.of_names("branch", context.table(statement.table).branches.names())
