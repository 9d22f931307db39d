"""Views and functions in a filesystem catalog: their files, their names, and what they are to tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import (
    CorruptFileError,
    DatabaseNotEmptyError,
    FunctionExistsError,
    InvalidInputError,
    NoSuchDatabaseError,
    NoSuchFunctionError,
    NoSuchTableError,
    NoSuchViewError,
    NotFoundError,
    TableExistsError,
    ViewExistsError,
)
from paimon_sql.format.schema.catalog_objects import (
    FunctionSchema,
    ViewSchema,
    apply_change,
    parse_function,
    parse_view,
)
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type

FIELDS = (DataField(0, "ü", IntType(False), "a comment"), DataField(1, "b", string_type(), default="'x'"))
VIEW = ViewSchema(FIELDS, "SELECT 'é'", {"spark": "SELECT 1"}, "what it is", {"k": "v"})
FUNCTION = FunctionSchema(FIELDS, FIELDS[:1], {"spark": {"type": "sql", "definition": "1"}}, False, None, {"k": "v"})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A catalog with the databases ``d`` and ``e``."""
    made = FileSystemCatalog("lake", {"warehouse": str(tmp_path)})
    made.create_database("d", {})
    made.create_database("e", {})
    return made


def v(name: str, database: str = "d") -> Identifier:
    """A name in a database."""
    return Identifier(database, name)


def test_json_brings_everything_back() -> None:
    assert parse_view(VIEW.to_json(), "v") == VIEW
    assert parse_function(FUNCTION.to_json(), "f") == FUNCTION


def test_members_that_rest_catalogs_leave_out_have_defaults() -> None:
    assert parse_view('{"fields": [], "query": "SELECT 1", "dialects": null, "id": 7}', "v") == ViewSchema(
        (), "SELECT 1"
    )
    assert parse_function('{"inputParams": [], "returnParams": []}', "f") == FunctionSchema((), ())


def test_a_broken_file_is_named(catalog: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "d.db" / "_views"
    folder.mkdir()
    for text in ("", "[]", "{}", '{"fields": [{"id": 1}], "query": "x"}'):
        (folder / "bad.json").write_text(text)
        with pytest.raises(CorruptFileError, match=r"bad\.json"):
            catalog.view(v("bad"))
    assert catalog.list_views("d") == ["bad"]
    catalog.drop_view(v("bad"))


def test_a_view_lives_and_dies(catalog: Catalog) -> None:
    catalog.create_view(v("a"), VIEW)
    with pytest.raises(ViewExistsError):
        catalog.create_view(v("a"), VIEW)
    catalog.create_view(v("a"), ViewSchema((), "SELECT 2"), replace=True)
    assert catalog.alter_view(v("a"), lambda old: old.with_dialect("flink", "x", is_new=True)).query == "SELECT 2"
    catalog.rename_view(v("a"), v("b", "e"))
    assert (catalog.list_views("d"), catalog.list_views("e")) == ([], ["b"])
    assert catalog.view(v("b", "e")).query_for("flink") == "x"
    catalog.drop_view(v("b", "e"))
    for missing in (catalog.view, catalog.drop_view):
        with pytest.raises(NoSuchViewError):
            missing(v("b", "e"))
    with pytest.raises(NoSuchDatabaseError):
        catalog.create_view(v("a", "none"), VIEW)


def test_views_and_tables_share_their_names(catalog: Catalog) -> None:
    schema = new_schema(FIELDS[:1])
    catalog.create_view(v("view"), VIEW)
    catalog.create_table(v("t"), schema)
    for taken in (
        lambda: catalog.create_table(v("view"), schema),
        lambda: catalog.rename_table(v("t"), v("view")),
        lambda: catalog.create_view(v("t"), VIEW),
        lambda: catalog.create_view(v("t"), VIEW, replace=True),
        lambda: catalog.rename_view(v("view"), v("t")),
    ):
        with pytest.raises(TableExistsError):
            taken()
    with pytest.raises(NoSuchTableError, match="is a view"):
        catalog.table(v("view"))
    assert catalog.list_tables("d") == ["t"]
    with pytest.raises(InvalidInputError, match="is reserved by the catalog"):
        catalog.create_table(v("_functions"), schema)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a$b", "x" * 300])
def test_a_name_stays_in_its_folder(catalog: Catalog, name: str) -> None:
    with pytest.raises(InvalidInputError):
        catalog.create_view(v(name), VIEW)
    if "$" not in name:
        with pytest.raises(InvalidInputError):
            catalog.create_function(v(name), FUNCTION)
    assert catalog.list_views("d") == catalog.list_functions("d") == []


def test_a_function_is_found_in_any_case(catalog: Catalog) -> None:
    catalog.create_function(v("Area"), FUNCTION)
    assert catalog.function_name(v("aREA")) == "Area"
    assert catalog.function(v("area")) == FUNCTION
    with pytest.raises(FunctionExistsError):
        catalog.create_function(v("AREA"), FUNCTION)
    catalog.create_function(v("AREA"), FunctionSchema((), ()), replace=True)
    assert catalog.list_functions("d") == ["Area"]
    catalog.drop_function(v("area"))
    with pytest.raises(NoSuchFunctionError):
        catalog.drop_function(v("area"))


def test_a_missing_database_has_no_functions(catalog: Catalog) -> None:
    assert catalog.function_name(v("f", "missing")) is None
    with pytest.raises(NoSuchFunctionError):
        catalog.function(v("f", "missing"))
    with pytest.raises(NoSuchFunctionError):
        catalog.drop_function(v("f", "missing"))


def test_a_database_with_definitions_is_dropped_by_cascade_only(catalog: Catalog) -> None:
    catalog.create_function(v("f"), FUNCTION)
    with pytest.raises(DatabaseNotEmptyError, match="1 functions, including f"):
        catalog.drop_database("d", False)
    catalog.drop_database("d", True)
    catalog.create_database("d", {})
    assert catalog.list_functions("d") == []


def test_changes_of_a_function_are_those_of_paimon() -> None:
    added = apply_change(
        FUNCTION,
        {
            "action": "addDefinition",
            "name": "flink",
            "definition": {"type": "lambda", "definition": "x", "language": "JAVA"},
        },
    )
    assert sorted(added.definitions) == ["flink", "spark"]
    assert apply_change(added, {"action": "dropDefinition", "name": "flink"}) == FUNCTION
    assert apply_change(FUNCTION, {"action": "updateComment", "comment": "c"}).comment == "c"
    assert apply_change(FUNCTION, {"action": "updateComment"}).comment is None
    wrong: list[Any] = [
        {},
        [],
        {"action": "addDefinition", "name": "x"},
        {"action": "setOption", "key": " ", "value": "v"},
    ]
    for bad in wrong:
        with pytest.raises(InvalidInputError):
            apply_change(FUNCTION, bad)
    with pytest.raises(NotFoundError):
        apply_change(FUNCTION, {"action": "removeOption", "key": "none"})
