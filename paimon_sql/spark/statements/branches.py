"""Branch DDL and SHOW BRANCHES."""

from __future__ import annotations

from paimon_sql.format.options.values import comma_separated
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.statements.tags import CreateBranch, DeleteBranch, RenameBranch, ShowBranches
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch


class RunCreateBranch(Runner):
    """CREATE BRANCH."""

    statement = CreateBranch

    def run(self, statement: CreateBranch, context: StatementContext) -> Answer:
        create_branch(
            context.table(statement.table),
            statement.branch,
            tag=statement.tag,
            snapshot_id=statement.snapshot,
            ignore_if_exists=statement.if_not_exists,
        )
        return Answer()


class RunDeleteBranch(Runner):
    """DELETE BRANCH and DROP BRANCH."""

    statement = DeleteBranch

    def run(self, statement: DeleteBranch, context: StatementContext) -> Answer:
        table = context.table(statement.table)
        names = comma_separated(statement.branch)
        delete_branches(table, [n for n in names if not statement.if_exists or table.branches.exists(n)])
        return Answer()


class RunRenameBranch(Runner):
    """RENAME BRANCH."""

    statement = RenameBranch

    def run(self, statement: RenameBranch, context: StatementContext) -> Answer:
        rename_branch(context.table(statement.table), statement.branch, statement.target)
        return Answer()


class RunShowBranches(Runner):
    """SHOW BRANCHES."""

    statement = ShowBranches

    def run(self, statement: ShowBranches, context: StatementContext) -> Answer:
        return Answer.of_names("branch", context.table(statement.table).branches.names())
