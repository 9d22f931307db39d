"""Statements that Python executes: each kind one class, found by the statement that it takes."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.statements.analyze import RunAnalyzeTable
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.spark.statements.branches import RunCreateBranch, RunDeleteBranch, RunRenameBranch, RunShowBranches
from paimon_sql.spark.statements.catalogs import RunCreateCatalog, RunDropCatalog
from paimon_sql.spark.statements.columns import RunAddColumns, RunModifyColumns
from paimon_sql.spark.statements.copy_into import RunCopyIntoLocation, RunCopyIntoTable
from paimon_sql.spark.statements.describe_partition import RunDescribePartition
from paimon_sql.spark.statements.functions import RunCreateFunction, RunDescribeFunction, RunDropFunction
from paimon_sql.spark.statements.materialized import (
    RunChangeMaterializedQuery,
    RunCreateMaterialized,
    RunDropMaterialized,
    RunRefreshMaterialized,
    RunResumeMaterialized,
    RunShowCreateMaterialized,
    RunShowMaterializedTables,
    RunSuspendMaterialized,
)
from paimon_sql.spark.statements.partitions import RunDropPartitions, RunRepairPartitions
from paimon_sql.spark.statements.row_changes import RunDelete, RunEvolvingInsert, RunExplainChange, RunMerge, RunUpdate
from paimon_sql.spark.statements.tables import RunCreateTableLike
from paimon_sql.spark.statements.tags import RunCreateTag, RunDeleteTag, RunRenameTag, RunShowTags
from paimon_sql.sql.statements.base import Statement

__all__ = ["Answer", "Surroundings", "run_statement"]

RUNNERS: dict[type[Statement], Runner] = {
    runner.statement: runner
    for runner in (
        RunAddColumns(),
        RunAnalyzeTable(),
        RunChangeMaterializedQuery(),
        RunCopyIntoLocation(),
        RunCopyIntoTable(),
        RunCreateBranch(),
        RunCreateCatalog(),
        RunCreateFunction(),
        RunCreateMaterialized(),
        RunCreateTableLike(),
        RunCreateTag(),
        RunDelete(),
        RunDeleteBranch(),
        RunDeleteTag(),
        RunDescribeFunction(),
        RunDescribePartition(),
        RunDropCatalog(),
        RunDropFunction(),
        RunDropMaterialized(),
        RunDropPartitions(),
        RunExplainChange(),
        RunEvolvingInsert(),
        RunMerge(),
        RunModifyColumns(),
        RunRefreshMaterialized(),
        RunRenameBranch(),
        RunRenameTag(),
        RunRepairPartitions(),
        RunResumeMaterialized(),
        RunShowBranches(),
        RunShowCreateMaterialized(),
        RunShowMaterializedTables(),
        RunShowTags(),
        RunSuspendMaterialized(),
        RunUpdate(),
    )
}


def run_statement(statement: Statement, surroundings: Surroundings) -> Answer:
    """Execute a statement.

    Raises:
        UnsupportedError: nothing here takes such a statement.
    """
    runner = RUNNERS.get(type(statement))
    if runner is None:
        raise UnsupportedError(f"The statement {type(statement).__name__} is not offered yet.")
    return runner.run(statement, surroundings)
