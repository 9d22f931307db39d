"""Incremental models by all strategies, and snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.simple_snapshot import fixtures
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import BaseSnapshotMultiUniqueKey
from dbt.tests.util import check_relations_equal, run_dbt

from tests.dbt.suites.spark_sql import run_statements

DATES = {"+column_types": {"last_visit_date": "string"}}
"""The suite inserts dates as text, which Spark does not cast in an INSERT."""


class TestUniqueKey(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, object]:
        return {"seeds": DATES}


class TestUniqueKeyDeleteInsert(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, object]:
        return {"seeds": DATES, "models": {"+incremental_strategy": "delete+insert"}}


class TestPredicatesDeleteInsert(BaseIncrementalPredicates):
    pass


class TestPredicatesMerge(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, object]:
        return {
            "models": {
                "+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"],
                "+incremental_strategy": "merge",
            }
        }


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        return (
            "{{ config(materialized='incremental', incremental_strategy='microbatch', partition_by=['day'],"
            " event_time='event_time', batch_size='day', begin=modules.datetime.datetime(2020, 1, 1)) }}\n"
            "select *, cast(event_time as date) as day from {{ ref('input_model') }}"
        )


class TestSnapshot(BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(BaseSnapshotCheck):
    pass


class TestSnapshotMultiUniqueKey(BaseSnapshotMultiUniqueKey):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "seed.sql": "select * from {{ target.schema }}.seed",
            "snapshots.yml": fixtures.snapshots_multi_key_yml,
            "ref_snapshot.sql": fixtures.ref_snapshot_sql,
        }

    def test_multi_column_unique_key(self, project: Any) -> None:
        run_statements(project, fixtures.create_multi_key_seed_sql)
        run_statements(project, fixtures.create_multi_key_snapshot_expected_sql)
        run_statements(project, fixtures.seed_multi_key_insert_sql)
        run_statements(project, fixtures.populate_multi_key_snapshot_expected_sql)
        assert len(run_dbt(["snapshot"])) == 1
        run_statements(project, fixtures.invalidate_multi_key_sql)
        run_statements(project, fixtures.update_multi_key_sql)
        assert len(run_dbt(["snapshot"])) == 1
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])
