"""Contracts with their constraints."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
)


class Types:
    """The names of types in Spark."""

    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        """Each an expression, its type in a contract, and its type in messages."""
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["cast('2019-01-01' as date)", "date", "date"],
            ["timestamp '2013-11-03 00:00:00'", "timestamp", "timestamp"],
            ["array('a', 'b')", "array<string>", "array<string>"],
            ["cast('1' as decimal(10, 2))", "decimal(10,2)", "decimal(10,2)"],
        ]


class TestTableColumns(Types, BaseTableConstraintsColumnsEqual):
    pass


class TestViewColumns(Types, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalColumns(Types, BaseIncrementalConstraintsColumnsEqual):
    pass


class TestDefinition(BaseConstraintsRuntimeDdlEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return """
        create or replace table <model_identifier> using paimon tblproperties ('primary-key' = 'id') as
        select id, color, date_day from (
          -- depends_on: <foreign_key_model_identifier>
          select 'blue' as color, 1 as id, '2019-01-01' as date_day
        ) as model_subq
        """


class Refused:
    """What a null of the primary key is refused with."""

    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["id", "NULL"]


class TestRollback(Refused, BaseConstraintsRollback):
    pass


class TestIncrementalRollback(Refused, BaseIncrementalConstraintsRollback):
    pass
