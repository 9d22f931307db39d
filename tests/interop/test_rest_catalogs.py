"""A REST catalog that Apache Paimon's Java client and this one share: names, definitions, branches and rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.rest.catalog import RestCatalog
from paimon_sql.errors import NoSuchTableError
from paimon_sql.format.schema.catalog_objects import Definition, FunctionSchema, ViewSchema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from tests.rest_server import RestServer
from tests.storage import core_tables as core

FIELDS = (DataField(0, "id", IntType(False)), DataField(1, "v", string_type()))


@pytest.fixture
def ours(rest: RestServer) -> RestCatalog:
    """Our side."""
    return RestCatalog("lake", rest.options)


@pytest.fixture
def name(rest: RestServer) -> Identifier:
    """The name of a table that is still to be made, in a database that Java's side shall make, or ours."""
    return Identifier(rest.new_name(), "t")


def test_what_we_make_java_opens_and_changes(ours: RestCatalog, rest: RestServer, name: Identifier) -> None:
    ours.create_database(name.database, {"ü": "é"})
    ours.create_table(name, new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"}))
    core.insert(ours.table(name), (1, "ours"))
    assert "ü=é" in rest.java("properties", name.database) and rest.java("tables", name.database) == ["t"]
    rest.java("write", name, 2, 1, "java")
    assert rest.java("read", name) == ["1=ours", "2=java"]
    assert sorted(core.rows(ours.table(name))) == [(1, "ours"), (2, "java")]
    rest.java("add column", name, "w")
    assert ours.table(name).schema.names == ("id", "v", "w") and ours.table(name).schema.id == 1
    core.insert(ours.table(name), (3, "ours", 9))
    assert sorted(core.rows(ours.table(name))) == [(1, "ours", None), (2, "java", None), (3, "ours", 9)]
    rest.java("tag", name, "three")
    rest.java("branch", name, "b", "three")
    core.insert(ours.table(replace(name, branch="b")), (4, "b", 0))
    assert rest.java("read", f"{name}$branch_b")[-1] == "4=b" and len(rest.java("read", name)) == 3
    rest.java("roll back", name, 2)
    assert sorted(core.rows(ours.table(name))) == [(1, "ours", None), (2, "java", None)]
    core.insert(ours.table(name), (5, "ours", 5))
    assert rest.java("latest", name)[0] == "3" and rest.java("read", name)[-1] == "5=ours"
    rest.java("drop", name)
    assert not ours.table_exists(name)


def test_what_java_makes_we_open_and_change(ours: RestCatalog, rest: RestServer, name: Identifier) -> None:
    rest.java("create database", name.database)
    rest.java("create", name)
    rest.java("write", name, 1, 1, "java")
    assert ours.database_properties(name.database)["k"] == "v" and ours.list_tables(name.database) == ["t"]
    core.insert(ours.table(name), (2, "ours"))
    assert rest.java("read", name) == ["1=java", "2=ours"]
    changes = [AddColumn(("w",), IntType()), SetOption("write-only", "true")]
    ours.alter_table(name, lambda s: apply_changes(s, changes, has_data=True))
    assert rest.java("columns", name) == ["id", "v", "w"] and "write-only=true" in rest.java("options", name)
    core.insert(ours.table(name), (3, "ours", 3))
    assert rest.java("read", name) == ["1=java", "2=ours", "3=ours"]
    table = ours.table(name)
    rest.java("drop", name)
    rest.java("create", name)
    with pytest.raises(NoSuchTableError, match="was replaced by another one"):
        core.insert(table, (4, "ours", 4))
    assert rest.java("read", name) == []
    ours.drop_database(name.database, cascade=True)
    assert name.database not in rest.java("databases")


def test_views_and_functions_are_common(ours: RestCatalog, rest: RestServer, name: Identifier) -> None:
    ours.create_database(name.database, {})
    ours.create_view(Identifier(name.database, "v"), ViewSchema(FIELDS, "SELECT 'é'", {"spark": "S", "flink": "F"}))
    assert rest.java("view", f"{name.database}.v") == ["SELECT 'é'"]
    assert rest.java("dialects", f"{name.database}.v") == ["flink", "spark"]
    rest.java("create view", f"{name.database}.w", "SELECT 1")
    assert ours.view(Identifier(name.database, "w")).query == "SELECT 1"
    definition: Definition = {"type": "sql", "definition": "x + 1"}
    function = FunctionSchema((DataField(0, "x", IntType()),), (DataField(0, "r", IntType()),), {"spark": definition})
    ours.create_function(Identifier(name.database, "f"), function)
    assert rest.java("definitions", f"{name.database}.f") == ["spark"]
