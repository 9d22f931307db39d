"""Branch DDL and SHOW BRANCHES."""

from __future__ import annotations

from paimon_sql.format.options.values import comma_separated
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.statements.tags import CreateBranch, DeleteBranch, RenameBranch, ShowBranches
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch


class RunCreateBranch(Runner[CreateBranch]):
    """CREATE BRANCH."""

    def run(self, statement: CreateBranch, context: StatementContext) -> None:
        create_branch(
            context.table(statement.table),
            statement.branch,
            tag=statement.tag,
            snapshot_id=statement.snapshot,
            ignore_if_exists=statement.if_not_exists,
        )


class RunDeleteBranch(Runner[DeleteBranch]):
    """DELETE BRANCH and DROP BRANCH."""

    def run(self, statement: DeleteBranch, context: StatementContext) -> None:
        table = context.table(statement.table)
        names = comma_separated(statement.branch)
        delete_branches(table, [n for n in names if not statement.if_exists or table.branches.exists(n)])


class RunRenameBranch(Runner[RenameBranch]):
    """RENAME BRANCH."""

    def run(self, statement: RenameBranch, context: StatementContext) -> None:
        rename_branch(context.table(statement.table), statement.branch, statement.target)


class RunShowBranches(Runner[ShowBranches]):
    """SHOW BRANCHES."""

    def run(self, statement: ShowBranches, context: StatementContext) -> Answer:
        return Answer.of_names("branch", context.table(statement.table).branches.names())
