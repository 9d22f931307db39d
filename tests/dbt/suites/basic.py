"""The suites that dbt expects every adapter to pass, and seeds, tests and comments of queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.caching.test_caching import BaseCachingUppercaseModel
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.dbt_show.test_dbt_show import BaseShowLimit
from dbt.tests.adapter.query_comment.test_query_comment import BaseMacroQueryComments, BaseQueryComments
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.simple_seed import test_seed
from dbt.tests.adapter.simple_seed.seeds import seeds__expected_sql
from dbt.tests.adapter.simple_seed.test_seed import BaseBasicSeedTests, BaseSimpleSeedWithBOM, BaseTestEmptySeed
from dbt.tests.adapter.store_test_failures_tests.basic import StoreTestFailuresAsGeneric
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import BaseStoreTestFailures
from dbt.tests.util import copy_file, run_dbt

from tests.dbt.suites.spark_sql import run_statements


class TestAdapterMethods(BaseAdapterMethod):
    pass


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


class TestCachingUppercaseModel(BaseCachingUppercaseModel):
    """The suite also compares databases, which relations of Spark do not have."""

    def run_and_inspect_cache(self, project: Any, run_args: list[str] | None = None) -> None:
        run_dbt(run_args)
        (first,) = project.adapter.cache.relations
        assert first.schema == project.test_schema
        run_dbt(run_args)
        (second,) = project.adapter.cache.relations
        assert (first.schema, first.identifier) == (second.schema, second.identifier) == (first.schema, "model")


class TestConcurrency(BaseConcurrency):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestQueryComments(BaseQueryComments):
    pass


class TestMacroQueryComments(BaseMacroQueryComments):
    pass


class TestChangeRelationType(BaseChangeRelationTypeValidator):
    pass


class TestBasicSeeds(BaseBasicSeedTests):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        run_statements(project, seeds__expected_sql)

    def test_simple_seed_full_refresh_flag(self, project: Any) -> None:
        """A seed is replaced in one snapshot, and the views of it stay."""
        self._build_relations_for_test(project)
        result = run_dbt(["seed", "--full-refresh"])
        self._check_relation_end_state(run_result=result, project=project, exists=True)


class TestSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        run_statements(project, seeds__expected_sql)
        copy_file(Path(test_seed.__file__).parent, "seed_bom.csv", project.project_root / "seeds" / "seed_bom.csv", "")


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresAsGeneric(StoreTestFailuresAsGeneric):
    pass
