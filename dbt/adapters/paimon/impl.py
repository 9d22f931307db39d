"""The adapter: what dbt's macros ask about models, relations and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark.impl import (
    GET_COLUMNS_IN_RELATION_RAW_MACRO_NAME,
    SCHEMA_NOT_FOUND_MESSAGES,
    TABLE_OR_VIEW_NOT_FOUND_MESSAGES,
    SparkConfig,
)
from dbt_common.contracts.constraints import ColumnLevelConstraint, ConstraintType
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.paimon.connections import PaimonConnectionManager
from dbt.adapters.paimon.relation import PaimonColumn, PaimonRelation
from paimon_sql.sqlalchemy.literals import literal

if TYPE_CHECKING:
    import agate

_SHORT_OPTIONS = {"buckets": "bucket", "merge_engine": "merge-engine", "clustered_by": "bucket-key"}
"""Options of tables with a name of their own in configurations of models."""
_STATISTICS = re.compile(r"(\d+) (bytes|rows)")


@dataclass
class PaimonConfig(SparkConfig):
    """The configuration of a model, beyond dbt's own."""

    file_format: str = "paimon"
    primary_key: list[str] | str | None = None
    merge_engine: str | None = None
    tblproperties: dict[str, str] | None = None
    tag: str | None = None
    tag_retained: str | None = None
    branch: str | None = None
    freshness: str | None = None
    refresh_mode: str | None = None


class PaimonAdapter(SparkAdapter):
    """dbt-spark's adapter, with Paimon's relations, keys, constraints and documentation."""

    Relation = PaimonRelation
    Column = PaimonColumn
    ConnectionManager = PaimonConnectionManager
    AdapterSpecificConfigs = PaimonConfig

    CONSTRAINT_SUPPORT = {
        ConstraintType.check: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }

    def valid_incremental_strategies(self) -> list[str]:
        """The strategies of incremental models."""
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    # -- models ----------------------------------------------------------------------------------------------------

    @available
    @classmethod
    def primary_key_of(cls, model: Mapping[str, Any]) -> list[str]:
        """The primary key of a model: as configured, or else by the constraints of its contract."""
        if configured := model["config"].get("primary_key"):
            return _names(configured)
        if not (model["config"].get("contract") or {}).get("enforced"):
            return []
        for constraint in model.get("constraints") or ():
            if constraint["type"] == ConstraintType.primary_key:
                return list(constraint["columns"])
        return [name for name, each in model["columns"].items() if _has(each, ConstraintType.primary_key)]

    @available
    @classmethod
    def not_null_columns_of(cls, model: Mapping[str, Any]) -> list[str]:
        """The columns that are NOT NULL by the contract of a model, beyond its primary key."""
        key = cls.primary_key_of(model)
        named = {name for name, each in model["columns"].items() if _has(each, ConstraintType.not_null)}
        for constraint in model.get("constraints") or ():
            if constraint["type"] == ConstraintType.not_null:
                named.update(constraint["columns"])
        return sorted(named.difference(key))

    @available
    @classmethod
    def options_of(cls, model: Mapping[str, Any]) -> dict[str, str]:
        """The options of the table of a model."""
        config = model["config"]
        options = {**(config.get("options") or {}), **(config.get("tblproperties") or {})}
        options |= {option: config[name] for name, option in _SHORT_OPTIONS.items() if config.get(name) is not None}
        if key := cls.primary_key_of(model):
            options["primary-key"] = key
        return {name: _option_value(value) for name, value in options.items()}

    @classmethod
    def render_column_constraint(cls, constraint: ColumnLevelConstraint) -> str | None:
        """The constraint in a definition of columns; the primary key is an option of the table."""
        if constraint.type == ConstraintType.primary_key:
            return None
        return super().render_column_constraint(constraint)

    @available
    @classmethod
    def literal(cls, value: object) -> str:
        """A value as a literal, which a CAST makes a value of the column's type."""
        if value is None:
            return "null"
        return literal(f"{value:f}" if isinstance(value, Decimal) else str(value))

    @available
    @classmethod
    def same_names(cls, these: str | Sequence[str], those: str | Sequence[str]) -> bool:
        """Whether two lists of columns name the same columns."""
        first, second = _names(these), _names(those)
        return all(cls.is_named(each, second) for each in first) and all(cls.is_named(each, first) for each in second)

    @available
    @classmethod
    def is_named(cls, column: str, names: Sequence[str]) -> bool:
        """Whether a column is among names, which may be quoted."""
        return column.strip("`").lower() in (name.strip("` ").lower() for name in names)

    # -- relations -------------------------------------------------------------------------------------------------

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables, views and materialized tables of a schema."""
        tables = self._listed("paimon_show_tables", schema_relation)
        views = self._listed("paimon_show_views", schema_relation)
        materialized = self._listed("paimon_show_materialized_tables", schema_relation) if tables else set()
        kinds = {
            **dict.fromkeys(tables, RelationType.Table),
            **dict.fromkeys(views, RelationType.View),
            **dict.fromkeys(materialized, RelationType.MaterializedView),
        }
        return [
            self.Relation.create(schema=schema_relation.schema, identifier=name, type=kind)
            for name, kind in kinds.items()
        ]

    def _make_match_kwargs(self, database: str, schema: str, identifier: str) -> dict[str, str]:
        """What a relation is found by: names as they are, also unquoted ones."""
        given = {"database": database, "schema": schema, "identifier": identifier}
        return {part: name for part, name in given.items() if name is not None}

    def _listed(self, macro: str, schema_relation: BaseRelation) -> set[str]:
        """The names that a statement lists, without temporary views; none if the schema does not exist."""
        try:
            rows = self.execute_macro(macro, kwargs={"relation": schema_relation})
        except DbtRuntimeError as error:
            absent = (*SCHEMA_NOT_FOUND_MESSAGES, "does not support views")  # as catalogs of Spark before 4.2
            if any(message in str(error) for message in absent):
                return set()
            raise
        return {row[1] for row in rows if len(row) < 3 or str(row[2]).lower() != "true"}

    @available.parse(lambda *_, **__: {})
    def table_properties(self, relation: BaseRelation) -> dict[str, str]:
        """The options of a table as it is, with its primary key."""
        return {row[0]: row[1] for row in self.execute_macro("fetch_tbl_properties", kwargs={"relation": relation})}

    # -- columns ---------------------------------------------------------------------------------------------------

    @available.parse(lambda *_, **__: [])
    def get_column_schema_from_query(self, sql: str) -> list[PaimonColumn]:
        """The columns of a query with their exact types; the query is not run."""
        _, rows = self.execute(f"describe query {sql}", fetch=True)
        return [self.Column.create(row[0], row[1]) for row in rows]

    def parse_describe_extended(self, relation: BaseRelation, raw_rows: agate.Table) -> list[PaimonColumn]:
        """The columns that DESCRIBE EXTENDED shows, with comments, owner and statistics of the table."""
        rows = [tuple(row) for row in raw_rows]
        end = next((i for i, row in enumerate(rows) if not row[0] or row[0].startswith("#")), len(rows))
        details = {row[0]: row[1] for row in rows[end:]}
        statistics = ", ".join(" ".join(each) for each in _STATISTICS.findall(details.get("Statistics") or ""))
        return [
            PaimonColumn(
                table_schema=relation.schema,
                table_name=relation.name,
                table_type=relation.type,
                table_owner=details.get("Owner"),
                table_stats=PaimonColumn.convert_table_stats(statistics),
                table_comment=details.get("Comment") or None,
                column=name,
                column_index=index,
                dtype=data_type,
                column_comment=comment or None,
            )
            for index, (name, data_type, comment) in enumerate(rows[:end], 1)
        ]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[PaimonColumn]:
        """The columns of a relation; none if it does not exist."""
        try:
            rows = self.execute_macro(GET_COLUMNS_IN_RELATION_RAW_MACRO_NAME, kwargs={"relation": relation})
        except DbtRuntimeError as error:
            if any(message in str(error) for message in TABLE_OR_VIEW_NOT_FOUND_MESSAGES):
                return []
            raise
        return self.parse_describe_extended(relation, rows)

    def _get_columns_for_catalog(self, relation: BaseRelation) -> Iterable[dict[str, Any]]:
        for column in self.get_columns_in_relation(relation):
            entry = column.to_column_dict()
            names = {"column_name": entry.pop("column"), "column_type": entry.pop("dtype"), "table_database": None}
            comments = {"column_comment": column.column_comment, "table_comment": column.table_comment}
            yield entry | names | comments


def _names(names: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _has(column: Mapping[str, Any], kind: ConstraintType) -> bool:
    return any(constraint["type"] == kind for constraint in column.get("constraints") or ())


def _option_value(value: object) -> str:
    """A value of YAML as an option has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
