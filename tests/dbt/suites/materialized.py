"""Materialized tables, as dbt's materialized views."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.materialized_view.basic import MaterializedViewBasic


class TestMaterializedTables(MaterializedViewBasic):
    @staticmethod
    def insert_record(project: Any, table: Any, record: tuple[int, int]) -> None:
        project.run_sql(f"insert into {table} values {record}")

    @staticmethod
    def refresh_materialized_view(project: Any, materialized_view: Any) -> None:
        project.run_sql(f"alter materialized table {materialized_view} refresh")

    @staticmethod
    def query_row_count(project: Any, relation: Any) -> int:
        return int(project.run_sql(f"select count(*) from {relation}", fetch="one")[0])

    @staticmethod
    def query_relation_type(project: Any, relation: Any) -> str | None:
        with project.adapter.connection_named("kinds"):
            listed = project.adapter.list_relations_without_caching(relation.without_identifier())
        return next((str(each.type) for each in listed if each.identifier == relation.identifier), None)
