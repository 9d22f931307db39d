"""What the adapter adds: keys and options of tables, history that is kept, tags, branches, contracts with NOT NULL."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import get_relation_columns, run_dbt, run_dbt_and_capture, write_file

UPSERTED = """
{{ config(materialized='incremental', primary_key='id', unique_key='id', buckets=1, options={'write-only': true},
          merge_engine='partial-update', on_schema_change='append_new_columns') }}
{% if is_incremental() %} select 1 as id, cast(null as string) as a, 'new' as b
{% else %} select 1 as id, 'old' as a, cast(null as string) as b
{% endif %}
"""
REPLACED = """
{{ config(materialized='table', partition_by='day', clustered_by=['id'], buckets=2) }}
select id, 'x' as day from range({{ var('rows', 2) }})
"""
LINES = """
{{ config(materialized='incremental', unique_key=['item'], incremental_strategy='delete+insert') }}
{% if is_incremental() %}
select 1 as item, 'c' as line union all select 1, 'd' union all select 3, 'e'
{% else %}
select 1 as item, 'a' as line union all select 1, 'b' union all select 2, 'z'
{% endif %}
"""
KEYED = """
{{ config(materialized='incremental', primary_key='id', unique_key='id', incremental_strategy='delete+insert') }}
select 1 as id, {{ 2 if is_incremental() else 1 }} as n
"""


def one(project: Any, query: str) -> Any:
    """The only value of a query."""
    return project.run_sql(query.replace("@", project.test_schema), fetch="all")[0][0]


def all_of(project: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in project.run_sql(query.replace("@", project.test_schema), fetch="all")]


def snapshots(project: Any, table: str) -> int:
    return int(one(project, f"select max(snapshot_id) from @.{table}$snapshots"))


def properties(project: Any, table: str) -> dict[str, str]:
    return dict(all_of(project, f"show tblproperties @.{table}"))


class TestTables:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"upserted.sql": UPSERTED, "replaced.sql": REPLACED, "lines.sql": LINES, "keyed.sql": KEYED}

    def test_rows_of_one_key_are_merged_by_the_engine_of_the_table(self, project: Any) -> None:
        run_dbt(["run", "--select", "upserted"])
        found = properties(project, "upserted")
        assert (found["primary-key"], found["bucket"], found["write-only"]) == ("id", "1", "true")
        assert found["merge-engine"] == "partial-update"
        run_dbt(["run", "--select", "upserted"])
        assert all_of(project, "select * from @.upserted") == [(1, "old", "new")]
        assert snapshots(project, "upserted") == 2

    def test_options_follow_the_model(self, project: Any) -> None:
        write_file(UPSERTED.replace("true}", "false, 'snapshot.num-retained.min': 3}"), "models", "upserted.sql")
        run_dbt(["run", "--select", "upserted"])
        found = properties(project, "upserted")
        assert (found["write-only"], found["snapshot.num-retained.min"]) == ("false", "3")
        write_file(UPSERTED.replace("partial-update", "deduplicate"), "models", "upserted.sql")
        _, said = run_dbt_and_capture(["run", "--select", "upserted"], expect_pass=False)
        assert "merge-engine" in said
        run_dbt(["run", "--select", "upserted", "--full-refresh"])
        assert properties(project, "upserted").get("merge-engine", "deduplicate") == "deduplicate"
        assert snapshots(project, "upserted") == 4

    def test_a_table_keeps_its_history_when_it_is_replaced(self, project: Any) -> None:
        run_dbt(["run", "--select", "replaced"])
        run_dbt(["run", "--select", "replaced", "--vars", "rows: 5"])
        assert one(project, "select count(*) from @.replaced") == 5
        assert one(project, "select count(*) from @.replaced version as of 1") == 2
        assert properties(project, "replaced")["bucket-key"] == "id"
        assert snapshots(project, "replaced") == 2

    def test_rows_of_a_key_are_deleted_and_inserted_in_one_snapshot(self, project: Any) -> None:
        for _ in range(2):
            run_dbt(["run", "--select", "lines keyed"])
        assert sorted(all_of(project, "select * from @.lines")) == [(1, "c"), (1, "d"), (2, "z"), (3, "e")]
        assert all_of(project, "select * from @.keyed") == [(1, 2)]
        assert (snapshots(project, "lines"), snapshots(project, "keyed")) == (2, 2)

    def test_deleting_by_other_columns_than_the_primary_key_is_refused(self, project: Any) -> None:
        write_file(KEYED.replace("unique_key='id'", "unique_key='n'"), "models", "keyed.sql")
        _, said = run_dbt_and_capture(["run", "--select", "keyed"], expect_pass=False)
        assert "needs the primary key as unique_key" in said


class TestTags:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "m.sql": "{{ config(materialized='table', tag='at-%Y', tag_retained='7 days') }} select 1 as a where 1 = 0"
        }

    def test_a_run_tags_its_snapshot_also_one_without_rows(self, project: Any) -> None:
        run_dbt()
        run_dbt()
        found = all_of(project, "select tag_name, snapshot_id, time_retained from @.m$tags")
        assert [(name[:5], snapshot, retained) for name, snapshot, retained in found] == [("at-20", 2, "PT168H")]


CONTRACT = """
models:
  - name: m
    config: {contract: {enforced: true}, materialized: table, persist_docs: {relation: true, columns: true}}
    description: It's "described"
    columns:
      - {name: id, data_type: bigint, constraints: [{type: primary_key}]}
      - {name: name, data_type: text, description: back\\slash, constraints: [{type: not_null}, {type: unique}]}
"""


class TestContractWithNotNull:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "select 'a' as name, 1L as id", "schema.yml": CONTRACT}

    def test_nulls_are_refused_and_the_table_stays(self, project: Any) -> None:
        _, said = run_dbt_and_capture(["run"])
        assert "unique" in said and "not supported" in said
        write_file("select cast(null as string) as name, 2L as id", "models", "m.sql")
        _, said = run_dbt_and_capture(["run"], expect_pass=False)
        assert "name" in said and "NULL" in said.upper()
        assert all_of(project, "select * from @.m") == [(1, "a")]
        write_file("select 'b' as name, 2L as id", "models", "m.sql")
        run_dbt()
        assert all_of(project, "select * from @.m") == [(2, "b")]
        assert [row[2] for row in all_of(project, "describe @.m") if row[0] == "name"] == ["back\\slash"]

    def test_another_contract_is_another_definition(self, project: Any) -> None:
        write_file("select 'c' as name, 2L as id, 3 as n", "models", "m.sql")
        write_file(CONTRACT + "      - {name: n, data_type: int}\n", "models", "schema.yml")
        run_dbt()
        assert all_of(project, "select * from @.m") == [(2, "c", 3)]
        assert [name for name, *_ in get_relation_columns(project.adapter, "m")] == ["id", "n", "name"]


AUDITED = "{{ config(materialized='%s', primary_key='id', branch=var('branch', '')) }} select {{ var('id', 1) }} as id"
SUMMARY = "{{ config(materialized='table', branch=var('branch', '')) }} select max(id) as id %s from {{ ref('a') }}"
CHECKS = """
models:
  - name: a
    columns:
      - name: id
        data_tests: [{accepted_values: {arguments: {values: [1, 2, 3], quote: false}}}]
"""


class TestWriteAuditPublish:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "a.sql": AUDITED % "incremental",
            "b.sql": SUMMARY % "",
            "schema.yml": CHECKS,
            "v.sql": "{{ config(enabled=var('view', false)) }} select * from {{ ref('a') }}",
        }

    def audit(self, *arguments: str, number: int, passes: bool = True) -> str:
        return str(
            run_dbt_and_capture(
                ["build", "--vars", f"{{branch: audit, id: {number}}}", *arguments], expect_pass=passes
            )[1]
        )

    def test_the_first_run_publishes_to_an_empty_table(self, project: Any) -> None:
        self.audit(number=1)
        assert all_of(project, "select * from @.a") == []
        run_dbt(["run-operation", "publish_branch", "--args", "branch: audit"])
        assert all_of(project, "select * from @.a") == [(1,)]
        assert all_of(project, "select * from @.b") == [(1,)]
        assert all_of(project, "show branches @.a") == []

    def test_what_fails_its_tests_is_not_published(self, project: Any) -> None:
        self.audit(number=7, passes=False)
        assert all_of(project, "select * from @.a") == [(1,)]
        run_dbt(["run-operation", "discard_branch", "--args", "branch: audit"])
        _, said = run_dbt_and_capture(["run-operation", "publish_branch", "--args", "branch: audit"], expect_pass=False)
        assert "No table of the project has a branch 'audit'" in said

    def test_a_branch_begins_at_the_table_and_its_history_is_kept(self, project: Any) -> None:
        write_file(SUMMARY % ", 'x' as more", "models", "b.sql")
        self.audit(number=2)
        self.audit(number=3)
        run_dbt(["run-operation", "publish_branch", "--args", "branch: audit"])
        assert sorted(all_of(project, "select * from @.a")) == [(1,), (3,)]
        assert all_of(project, "select id, more from @.b") == [(3, "x")]
        assert one(project, "select count(*) from @.b$snapshots") >= 2

    def test_a_view_of_a_branch_is_refused(self, project: Any) -> None:
        said = run_dbt_and_capture(["build", "--vars", "{branch: audit, id: 1, view: true}"], expect_pass=False)[1]
        assert "v reads a on the branch 'audit', but is not built on a branch itself" in said


HOSTILE = """id,text,amount,big,day,at
1,it's,1.10,9007199254740993,2026-01-02,2026-01-02 03:04:05
2,back\\slash ${env:HOME} %s,,,,
3,"two
lines",-0.000001,-1,1970-01-01,1970-01-01 00:00:00
"""


class TestSeeds:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {
            "hostile.csv": HOSTILE,
            "seeds.yml": "seeds: [{name: hostile, config: {column_types: {amount: 'decimal(12,6)'}}}]",
        }

    def test_a_seed_is_what_its_file_says(self, project: Any) -> None:
        run_dbt(["seed"])
        columns = "id, text, cast(amount as string), big, cast(day as string)"
        found = all_of(project, f"select {columns} from @.hostile order by id")
        assert found == [
            (1, "it's", "1.100000", 9007199254740993, "2026-01-02"),
            (2, "back\\slash ${env:HOME} %s", None, None, None),
            (3, "two\nlines", "-0.000001", -1, "1970-01-01"),
        ]
        write_file(HOSTILE.split("\n2,")[0] + "\n", "seeds", "hostile.csv")
        run_dbt(["seed"])
        assert one(project, "select count(*) from @.hostile") == 1
        assert snapshots(project, "hostile") == 2


class TestPythonModels:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.py": "def model(dbt, session):\n    return session.range(1)\n"}

    def test_they_are_refused(self, project: Any) -> None:
        _, said = run_dbt_and_capture(["run"], expect_pass=False)
        assert "only supports languages ['sql']" in said
