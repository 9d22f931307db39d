"""Documentation: the catalog, and descriptions that are stored as comments."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
)
from dbt.tests.util import AnyInteger

NO_STATISTICS = expected_catalog.no_stats()
STATISTICS = {
    name: {"id": name, "label": name, "value": AnyInteger(), "description": None, "include": True}
    for name in ("rows", "bytes")
} | {"has_stats": {**NO_STATISTICS["has_stats"], "value": True}}


class AnyOwner:
    """The owner of a table; views have none."""

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, str)

    __hash__ = object.__hash__


TYPES = {
    "role": AnyOwner(),
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
}


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        found = expected_catalog.base_expected_catalog(
            project, **TYPES, model_stats=NO_STATISTICS, seed_stats=STATISTICS
        )
        return dict(found)


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        statistics = {"model_stats": STATISTICS, "view_summary_stats": NO_STATISTICS}
        found = expected_catalog.expected_references_catalog(project, **TYPES, **statistics, bigint_type="bigint")
        return dict(found)


class TestPersistDocs(BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    pass
