"""The suites that dbt expects every adapter to pass, and seeds, tests and comments of queries."""

from __future__ import annotations

import re
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
from dbt.tests.adapter.simple_seed.seeds import seeds__expected_sql
from dbt.tests.adapter.simple_seed.test_seed import BaseBasicSeedTests, BaseSimpleSeedWithBOM, BaseTestEmptySeed
from dbt.tests.adapter.store_test_failures_tests.basic import StoreTestFailuresAsGeneric
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import BaseStoreTestFailures
from dbt.tests.util import copy_file


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
    pass


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


def make_expected_seed(project: Any) -> None:
    """Make the table that seeds are compared with, whose definition in the suite is that of another database."""
    text = seeds__expected_sql.replace("TEXT", "STRING").replace("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP")
    text = re.sub(r"'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'", r"TIMESTAMP'\1'", text.replace('"', "`"))
    for statement in filter(str.strip, text.split(";")):
        project.run_sql(statement)


class TestBasicSeeds(BaseBasicSeedTests):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        make_expected_seed(project)


class TestSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        make_expected_seed(project)
        copy_file(project.test_dir, "seed_bom.csv", project.project_root / "seeds" / "seed_bom.csv", "")


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresAsGeneric(StoreTestFailuresAsGeneric):
    pass
