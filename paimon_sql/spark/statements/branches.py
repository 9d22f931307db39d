"""Branch DDL and SHOW BRANCHES."""

from __future__ import annotations

from paimon_sql.format.options.values import comma_separated
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.statements.tags import CreateBranch, DeleteBranch, RenameBranch, ShowBranches
from paimon_sql.storage.branching import create_branch, delete_branches, rename_branch


class RunCreateBranch(Runner):
    """CREATE BRANCH."""

    statement = CreateBranch

    def run(self, statement: CreateBranch, surroundings: Surroundings) -> Answer:
        create_branch(
            surroundings.table(statement.table),
            statement.branch,
            tag=statement.tag,
            snapshot_id=statement.snapshot,
            ignore_if_exists=statement.if_not_exists,
        )
        return Answer()


class RunDeleteBranch(Runner):
    """DELETE BRANCH and DROP BRANCH."""

    statement = DeleteBranch

    def run(self, statement: DeleteBranch, surroundings: Surroundings) -> Answer:
        table = surroundings.table(statement.table)
        names = comma_separated(statement.branch)
        delete_branches(table, [n for n in names if not statement.if_exists or table.branches.exists(n)])
        return Answer()


class RunRenameBranch(Runner):
    """RENAME BRANCH."""

    statement = RenameBranch

    def run(self, statement: RenameBranch, surroundings: Surroundings) -> Answer:
        rename_branch(surroundings.table(statement.table), statement.branch, statement.target)
        return Answer()


class RunShowBranches(Runner):
    """SHOW BRANCHES."""

    statement = ShowBranches

    def run(self, statement: ShowBranches, surroundings: Surroundings) -> Answer:
        return Answer.of_names("branch", surroundings.table(statement.table).branches.names())
