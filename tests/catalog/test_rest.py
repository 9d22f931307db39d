"""REST catalogs on the server of Paimon's own tests: names, definitions, commits, branches, and what it refuses."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.registry import open_catalog
from paimon_sql.catalog.rest import environment
from paimon_sql.catalog.rest.catalog import RestCatalog
from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.environment import Token, TokenProvider
from paimon_sql.errors import (
    AlreadyExistsError,
    AnswerLostError,
    CatalogUnavailableError,
    CommitUnknownError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    FunctionExistsError,
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    NoSuchDatabaseError,
    NoSuchFunctionError,
    NoSuchTableError,
    NoSuchViewError,
    NotFoundError,
    PaimonError,
    TableExistsError,
    UnsupportedError,
    ViewExistsError,
    WrongKindError,
)
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.catalog_objects import Definition, FunctionSchema, ViewSchema
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.procedures import call
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.catalog_environment import QueryAuthResult
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.schema.changes.alter_columns import (
    FIRST,
    AddColumn,
    DropColumn,
    Position,
    RenameColumn,
    UpdateColumnComment,
    UpdateColumnPosition,
)
from paimon_sql.storage.schema.changes.base import SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnType
from paimon_sql.storage.schema.changes.options import RemoveOption, SetOption, UpdateComment
from paimon_sql.storage.table.table import Table
from tests.object_stores import BUCKET
from tests.rest_server import RestServer
from tests.storage import core_tables as core

FIELDS = (DataField(0, "id", IntType(False)), DataField(1, "v", string_type()))
SCHEMA = new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"})
VIEW = ViewSchema(FIELDS, "SELECT 'é😀'", {"spark": "SELECT 1"}, "what it is", {"k": "v"})
FUNCTION = FunctionSchema(
    (DataField(0, "x", IntType()),), (DataField(0, "r", IntType()),), {"spark": {"type": "sql", "definition": "x + 1"}}
)


@pytest.fixture
def catalog(rest: RestServer) -> RestCatalog:
    """A catalog on the server."""
    return RestCatalog("lake", rest.options)


@pytest.fixture
def name(rest: RestServer, catalog: RestCatalog) -> Callable[[str], Identifier]:
    """Names in a new database."""
    database = rest.new_name()
    catalog.create_database(database, {})
    return lambda object_name: Identifier(database, object_name)


Name = Callable[[str], Identifier]


def altered(catalog: Catalog, table: Identifier, *changes: SchemaChange) -> TableSchema:
    """The definition of a table after changes."""
    return catalog.alter_table(table, lambda s: apply_changes(s, changes, has_data=True))


def test_databases_have_properties(catalog: RestCatalog, rest: RestServer) -> None:
    database = f"{rest.new_name()} ü 😀"
    catalog.create_database(database, {"comment": "it's", "a": "", "B": "\\"})
    assert database in catalog.list_databases() and catalog.database_exists(database)
    told = catalog.database_properties(database)
    assert told.pop("location") and told == {"comment": "it's", "a": "", "B": "\\"}
    catalog.alter_database(database, {"a": "x", "B": None, "missing": None, "new": "ñ"})
    assert catalog.database_properties(database).items() >= {"comment": "it's", "a": "x", "new": "ñ"}.items()
    with pytest.raises(DatabaseExistsError, match=f"Database {database} already exists in catalog lake"):
        catalog.create_database(database, {})
    with pytest.raises(DatabaseExistsError):
        catalog.create_database("sys", {})
    for ask in (catalog.database_properties, catalog.list_tables, catalog.list_views, catalog.list_functions):
        with pytest.raises(NoSuchDatabaseError, match="Database nope does not exist in catalog lake"):
            ask("nope")
    with pytest.raises(NoSuchDatabaseError):
        catalog.alter_database("nope", {"a": "b"})
    catalog.create_table(Identifier(database, "t"), SCHEMA)
    with pytest.raises(DatabaseNotEmptyError, match="contains 1 tables, including t"):
        catalog.drop_database(database, cascade=False)
    catalog.drop_database(database, cascade=True)
    assert not catalog.database_exists(database)


def test_lists_have_all_pages(catalog: RestCatalog, name: Name) -> None:
    names = [f"v{i:03}" for i in range(101)]
    for n in names:  # one by one: their server forgets views that are made at the same time
        catalog.create_view(name(n), VIEW)
    assert catalog.list_views(name("").database) == names


def test_a_table_stands_where_the_server_says(catalog: RestCatalog, rest: RestServer, name: Name) -> None:
    made = catalog.create_table(name("t ü"), SCHEMA)
    assert made.path == f"{rest.folder}/{name('').database}.db/t ü" == catalog.table_location(name("t ü"))
    assert made.schema.options == {"bucket": "1", "write-buffer-size": "8 mb"} and made.schema.id == 0
    assert (made.schema.fields, made.schema.primary_keys) == (SCHEMA.fields, ("id",))
    assert catalog.list_tables(name("").database) == ["t ü"] and catalog.table_exists(name("t ü"))
    with pytest.raises(TableExistsError, match="already exists"):
        catalog.create_table(name("t ü"), SCHEMA)
    with pytest.raises(NoSuchDatabaseError):
        catalog.create_table(Identifier("nope", "t"), SCHEMA)
    with pytest.raises(InvalidOptionError, match="the table has no such branch"):
        catalog.create_table(name("u"), replace(SCHEMA, options={"branch": "b"}))
    catalog.drop_table(name("t ü"))
    assert not Path(made.path).exists() and not catalog.table_exists(name("t ü"))
    for refused in (catalog.drop_table, catalog.table):
        with pytest.raises(NoSuchTableError, match=r"Table lake\..*\.t ü does not exist"):
            refused(name("t ü"))


def test_tables_are_renamed(catalog: RestCatalog, name: Name) -> None:
    catalog.create_table(name("t"), SCHEMA)
    catalog.create_table(name("u"), SCHEMA)
    catalog.create_view(name("v"), VIEW)
    for taken in ("u", "v"):
        with pytest.raises(TableExistsError):
            catalog.rename_table(name("t"), name(taken))
    with pytest.raises(NoSuchDatabaseError):
        catalog.rename_table(name("t"), Identifier("nope", "t"))
    with pytest.raises(NoSuchTableError):
        catalog.rename_table(name("none"), name("w"))
    catalog.rename_table(name("t"), name("w"))
    assert catalog.list_tables(name("").database) == ["u", "w"]


def test_definitions_change_by_the_server(catalog: RestCatalog, name: Name) -> None:
    row = t.RowType(True, (DataField(0, "a", IntType()), DataField(1, "b", t.ArrayType(True, IntType()))))
    columns = [*FIELDS, DataField(2, "r", row), DataField(3, "m", t.MapType(True, string_type(), row))]
    table = catalog.create_table(name("t"), new_schema(columns, primary_keys=["id"], options={"bucket": "1"}))
    changes: list[Sequence[SchemaChange]] = [
        (SetOption("write-only", "true"), UpdateComment("whät"), SetOption("num-sorted-run.stop-trigger", "9")),
        (RemoveOption("write-only"), UpdateComment(None)),
        (AddColumn(("w",), IntType(), "new", FIRST), AddColumn(("x",), IntType(), None, Position("AFTER", "id"))),
        (AddColumn(("r", "c"), string_type(), None, FIRST), AddColumn(("m", "value", "c"), string_type())),
        (RenameColumn(("v",), "V"), RenameColumn(("r", "a"), "A"), UpdateColumnComment(("V",), "said")),
        (UpdateColumnType(("w",), t.BigIntType()), UpdateColumnType(("r", "b", "element"), t.BigIntType())),
        (UpdateColumnPosition(("w",), Position("AFTER", "V")), UpdateColumnPosition(("m",), FIRST)),
        (DropColumn(("x",)), DropColumn(("r", "c"))),
        (AddColumn(("n",), t.TimestampType(True, 3)),),
    ]
    for at, some in enumerate(changes):
        wanted = apply_changes(table.schema, some, has_data=True)
        found = altered(catalog, name("t"), *some)
        table = catalog.table(name("t"))
        assert found == table.schema and found.id == at + 1, some
        assert _shape(found) == _shape(wanted), some
        assert table.schemas.get(found.id).names == found.names
    assert altered(catalog, name("t")) == table.schema and table.schemas.ids()[-1] == len(changes)
    with pytest.raises(NoSuchTableError):
        altered(catalog, name("none"), UpdateComment("x"))
    with pytest.raises(PaimonError, match=r"refused: .*nullable"):
        catalog.alter_table(name("t"), never_null)
    with pytest.raises(UnsupportedError, match="Fields inside column 'r' cannot be reordered"):
        altered(catalog, name("t"), UpdateColumnPosition(("r", "b"), FIRST))
    assert catalog.table(name("t")).schema == table.schema


def never_null(schema: TableSchema) -> TableSchema:
    """The definition with all columns NOT NULL, which a server allows only where it is told that there are no nulls."""
    return replace(schema, fields=tuple(replace(f, type=f.type.as_nullable(False)) for f in schema.fields))


def _shape(schema: TableSchema) -> Any:
    """A definition without its ids, which the server gives out itself."""
    row = t.reassign_ids(t.RowType(True, schema.fields), iter(range(100)).__next__)
    return row, schema.primary_keys, schema.partition_keys, dict(schema.options), schema.comment


def test_a_column_that_another_made_meanwhile_is_not_made_twice(catalog: RestCatalog, name: Name) -> None:
    catalog.create_table(name("t"), SCHEMA)

    def change(schema: TableSchema) -> TableSchema:
        if "w" not in catalog.table(name("t")).schema.names:
            altered(catalog, name("t"), AddColumn(("w",), IntType()))
        return apply_changes(schema, [AddColumn(("w",), string_type())], has_data=True)

    with pytest.raises(InvalidSchemaError, match="w"):
        catalog.alter_table(name("t"), change)
    assert catalog.table(name("t")).schema.names == ("id", "v", "w")


def test_views_live_on_the_server(catalog: RestCatalog, name: Name) -> None:
    catalog.create_view(name("v"), VIEW)
    assert catalog.view(name("v")) == VIEW and catalog.list_views(name("").database) == ["v"]
    with pytest.raises(ViewExistsError):
        catalog.create_view(name("v"), VIEW)
    with pytest.raises(TableExistsError):
        catalog.create_table(name("v"), SCHEMA)
    with pytest.raises(NoSuchTableError, match="is a view, not a table"):
        catalog.table(name("v"))
    changes = {"dialects": {"flink": "F", "spark": "S"}, "comment": None, "options": {"l": "é"}}
    for changed in (replace(VIEW, **changes), replace(VIEW, query="SELECT 3"), replace(VIEW, dialects={})):  # type: ignore[arg-type]
        assert catalog.alter_view(name("v"), lambda _: changed) == changed == catalog.view(name("v"))  # noqa: B023
    catalog.create_view(name("v"), VIEW, replace=True)
    assert catalog.view(name("v")) == VIEW
    catalog.create_table(name("t"), SCHEMA)
    for taken in ("t", "v"):
        with pytest.raises(AlreadyExistsError):
            catalog.rename_view(name("v"), name(taken))
    catalog.rename_view(name("v"), name("w"))
    assert catalog.list_views(name("").database) == ["w"]
    catalog.drop_view(name("w"))
    gone: tuple[Callable[[], object], ...] = (
        lambda: catalog.drop_view(name("w")),
        lambda: catalog.view(name("w")),
        lambda: catalog.rename_view(name("w"), name("x")),
        lambda: catalog.alter_view(name("w"), lambda v: v),
        lambda: catalog.view(name("w$files")),
    )
    for ask in gone:
        with pytest.raises(NoSuchViewError):
            ask()
    with pytest.raises(NoSuchDatabaseError):
        catalog.create_view(Identifier("nope", "v"), VIEW)
    with pytest.raises(InvalidInputError, match="cannot contain \\$"):
        catalog.create_view(name("v$files"), VIEW)


def test_functions_live_on_the_server(catalog: RestCatalog, name: Name) -> None:
    catalog.create_function(name("Plus"), FUNCTION)
    assert catalog.function(name("plus")) == FUNCTION and catalog.function_name(name("PLUS")) == "Plus"
    with pytest.raises(FunctionExistsError):
        catalog.create_function(name("plus"), FUNCTION)
    java: Definition = {"type": "lambda", "definition": "(x) -> x", "language": "JAVA"}
    for changed in (
        replace(FUNCTION, definitions={"flink": java}, comment="é", options={"k": "v"}),
        replace(FUNCTION, definitions={"flink": {**java, "definition": "y"}}),
        replace(FUNCTION, parameters=(), deterministic=False),
    ):
        assert catalog.alter_function(name("plus"), lambda _, to=changed: to) == changed  # type: ignore[misc]
        assert catalog.function(name("plus")) == changed
    catalog.create_function(name("PLUS"), FUNCTION, replace=True)
    assert catalog.list_functions(name("").database) == ["Plus"]
    catalog.drop_function(name("plus"))
    for ask in (catalog.function, catalog.drop_function):
        with pytest.raises(NoSuchFunctionError):
            ask(name("plus"))
    with pytest.raises(NoSuchDatabaseError):
        catalog.create_function(Identifier("nope", "f"), FUNCTION)


def test_snapshots_come_to_be_by_the_server(catalog: RestCatalog, rest: RestServer, name: Name) -> None:
    options = {"metastore.partitioned-table": "true"}
    columns = [DataField(0, "id", IntType()), DataField(1, "dt", string_type()), DataField(2, "h", IntType())]
    catalog.create_table(name("partitioned"), new_schema(columns, partition_keys=["dt", "h"], options=options))
    assert (
        catalog.table(name("partitioned")).snapshots.latest() is None and rest.java("latest", name("partitioned")) == []
    )
    for rows in ([(1, "é/x", 1), (2, "é/x", 1), (3, None, 2)], [(4, "é/x", 1)]):
        core.insert(catalog.table(name("partitioned")), *rows)
    assert rest.java("latest", name("partitioned")) == ["2", "4", "3"]
    default = "{dt=__DEFAULT_PARTITION__, h=2} 1 1"
    assert rest.java("partitions", name("partitioned")) == sorted([default, "{dt=é/x, h=1} 3 2"])
    assert sorted(r[0] for r in core.rows(catalog.table(name("partitioned")))) == [1, 2, 3, 4]


def test_a_commit_whose_answer_is_lost_is_made_once(
    catalog: RestCatalog, rest: RestServer, name: Name, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create_table(name("t"), SCHEMA)
    rest.fail_after_commit()
    core.insert(catalog.table(name("t")), (1, "a"))
    table = catalog.table(name("t"))
    assert core.rows(table) == [(1, "a")] and table.snapshots.latest_id() == 1
    # A server that had done it and was then too busy to say so is told again, and answers that it has one already.
    post = RestClient.post

    def twice(client: RestClient, *path: str, body: Any) -> Any:
        return [post(client, *path, body=body) for _ in range(2)][1]

    monkeypatch.setattr(RestClient, "post", twice)
    core.insert(table, (2, "b"))
    assert sorted(core.rows(catalog.table(name("t")))) == [(1, "a"), (2, "b")]
    assert catalog.table(name("t")).snapshots.latest_id() == 2

    # Where the question what came of it finds no answer either, nothing is taken away.
    def lost(client: RestClient, *path: str, body: Any = None) -> Any:
        if body is None and path[-1] == "snapshot":
            return get(client, *path)
        if body is not None:
            post(client, *path, body=body)
        raise AnswerLostError("it fell silent.")

    get = RestClient.get
    table = catalog.table(name("t"))
    monkeypatch.setattr(RestClient, "post", lost)
    monkeypatch.setattr(RestClient, "get", lost)
    with pytest.raises(CommitUnknownError, match="whether snapshot 3 was committed could not be determined"):
        core.insert(table, (3, "c"))
    monkeypatch.undo()
    assert sorted(core.rows(catalog.table(name("t")))) == [(1, "a"), (2, "b"), (3, "c")]


def test_a_commit_that_the_server_refuses_leaves_nothing(
    catalog: RestCatalog, name: Name, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table(name("t"), SCHEMA)
    core.insert(table, (1, "a"))
    before = set(Path(table.path, "manifest").iterdir())
    catalog.drop_table(name("t"))
    catalog.create_table(name("t"), SCHEMA)
    with pytest.raises(NoSuchTableError, match="no longer exists, or was replaced by another one"):
        core.insert(table, (2, "b"))
    assert before and not any(Path(table.path).glob("manifest/*"))

    def unreachable(*_: object, **__: object) -> Any:
        raise CatalogUnavailableError("nobody is there.")

    monkeypatch.setattr(RestClient, "post", unreachable)
    with pytest.raises(CatalogUnavailableError):
        core.insert(catalog.table(name("t")), (2, "b"))
    assert not any(Path(table.path).glob("manifest/*"))


def test_commits_of_many_at_the_same_time_lose_nothing(catalog: RestCatalog, rest: RestServer, name: Name) -> None:
    catalog.create_table(name("t"), SCHEMA)
    rest.client.send("write", name("t"), 100, 8, "java")
    together = threading.Barrier(2)

    def commit(start: int) -> None:
        table = pickle.loads(pickle.dumps(catalog.table(name("t"))))
        together.wait()
        for i in range(start, start + 6):
            core.insert(table, (i, "ours"))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(commit, (0, 10)))
    rest.client.answer()
    wanted = sorted([(i, "ours") for s in (0, 10) for i in range(s, s + 6)] + [(i, "java") for i in range(100, 108)])
    assert sorted(core.rows(catalog.table(name("t")))) == wanted
    assert rest.java("read", name("t")) == sorted(f"{i}={v}" for i, v in wanted)
    assert rest.java("latest", name("t"))[:2] == [str(catalog.table(name("t")).snapshots.latest_id()), "20"]


def test_branches_and_rollbacks_are_the_server_s(catalog: RestCatalog, rest: RestServer, name: Name) -> None:
    catalog.create_table(name("t"), SCHEMA)
    for i in (1, 2):
        core.insert(catalog.table(name("t")), (i, "a"))
    table = catalog.table(name("t"))
    create_tag(table, "two")
    with pytest.raises(UnsupportedError, match="creates branches from tags, not from snapshots"):
        create_branch(table, "b", snapshot_id=1)
    assert create_branch(table, "b", tag="two", dry_run=True).name == "b" and rest.java("branches", name("t")) == []
    create_branch(table, "b", tag="two")
    assert rest.java("branches", name("t")) == ["b"]
    with pytest.raises(AlreadyExistsError):
        create_branch(table, "b", tag="two")
    core.insert(catalog.table(replace(name("t"), branch="b")), (3, "b"))
    assert sorted(core.rows(catalog.table(replace(name("t"), branch="b")))) == [(1, "a"), (2, "a"), (3, "b")]
    assert sorted(core.rows(catalog.table(name("t")))) == [(1, "a"), (2, "a")]
    rename_branch(catalog.table(name("t")), "b", "c")
    assert rest.java("branches", name("t")) == ["c"]
    done = fast_forward(catalog.table(name("t")), "c")
    assert done.added == [3] and sorted(core.rows(catalog.table(name("t")))) == [(1, "a"), (2, "a"), (3, "b")]
    assert rest.java("latest", name("t"))[0] == "3"
    with pytest.raises(UnsupportedError, match="fast-forwards the table itself"):
        create_branch(catalog.table(name("t")), "e", tag="two")
        fast_forward(catalog.table(replace(name("t"), branch="e")), "c")
    delete_branches(catalog.table(name("t")), ["c", "e"])
    with pytest.raises(NoSuchTableError, match="Branch c of table"):
        catalog.table(replace(name("t"), branch="c"))
    with pytest.raises(NotFoundError):
        delete_branches(catalog.table(name("t")), ["c"])
    assert rollback_to_snapshot(catalog.table(name("t")), 2, dry_run=True).snapshots == 1
    result = rollback_to_snapshot(catalog.table(name("t")), 2)
    assert (result.previous, result.current, result.snapshots) == (3, 2, 1)
    assert sorted(core.rows(catalog.table(name("t")))) == [(1, "a"), (2, "a")]
    core.insert(catalog.table(name("t")), (4, "d"))
    assert rollback_to_tag(catalog.table(name("t")), "two").previous == 3
    assert rest.java("latest", name("t"))[0] == "2"


def test_procedures_run_without_spark(catalog: RestCatalog, rest: RestServer, name: Name) -> None:
    catalog.create_table(name("t"), replace(SCHEMA, options={"bucket": "1", "write-only": "true"}))
    for i in range(4):
        core.insert(catalog.table(name("t")), (i, "a"))
    call(catalog, "compact", table=str(name("t")))
    assert rest.java("latest", name("t")) == ["5", "4", "1"]
    call(catalog, "expire_snapshots", table=str(name("t")), retain_max=1, retain_min=1)
    call(catalog, "remove_orphan_files", table=str(name("t")), dry_run=True)
    assert rest.java("read", name("t")) == [f"{i}=a" for i in range(4)]
    assert catalog.table(name("t")).snapshots.earliest_id() == 5


def test_partitions_are_marked_as_done(catalog: RestCatalog, name: Name) -> None:
    columns = [DataField(0, "id", IntType()), DataField(1, "dt", string_type())]
    for table, more in (("t", {"metastore.partitioned-table": "true"}), ("u", {})):
        options = {"partition.mark-done-action": "mark-event,success-file", **more}
        catalog.create_table(name(table), new_schema(columns, partition_keys=["dt"], options=options))
        core.insert(catalog.table(name(table)), (1, "é=1"))
        call(catalog, "mark_partition_done", table=str(name(table)), partitions="dt=é=1")
        assert list(Path(catalog.table(name(table)).path).glob("*/_SUCCESS"))


def test_format_tables_stand_on_the_server_alone(catalog: RestCatalog, name: Name) -> None:
    schema = new_schema([replace(f, type=f.type.as_nullable()) for f in FIELDS], options={"type": "format-table"})
    assert catalog.create_any_table(name("f"), schema).schema.names == ("id", "v")
    with pytest.raises(WrongKindError):
        catalog.table(name("f"))
    altered(catalog, name("f"), AddColumn(("w",), IntType()))
    assert catalog.any_table(name("f")).schema.names == ("id", "v", "w")
    catalog.drop_table(name("f"))
    assert catalog.list_tables(name("").database) == []


def test_the_server_refuses_strangers(rest: RestServer) -> None:
    with pytest.raises(CatalogUnavailableError, match=r"Check the options 'token\.provider' and 'token'"):
        open_catalog("lake", {**rest.options, "token": "another"})


def test_files_are_reached_with_what_the_server_lends(
    catalog: RestCatalog, rest: RestServer, name: Name, s3: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {k: s3[k] for k in ("s3.access-key", "s3.secret-key")}
    place = {"path": f"s3://{BUCKET}/{name('lent').database}"}
    own = RestCatalog("lake", {**rest.options, **s3})
    core.insert(own.create_table(name("t"), replace(SCHEMA, options={**SCHEMA.options, **place})), (1, "a"))
    without = {k: v for k, v in s3.items() if k not in keys} | {"data-token.enabled": "true"}
    lending = RestCatalog("lake", {**rest.options, **without})
    asked: list[TokenProvider] = []
    lent, clock = TokenProvider._vended, SimpleNamespace(time=time.time)

    def asks(lender: TokenProvider) -> Token:
        asked.append(lender)
        return lent(lender)

    monkeypatch.setattr(TokenProvider, "_vended", asks)
    monkeypatch.setattr(environment, "time", clock)

    def lend(minutes: int, **more: str) -> None:
        rest.java("lend", name("t"), minutes * 60_000, *(f"{k}={v}" for k, v in {**keys, **more}.items()))

    lend(30)
    table = lending.table(name("t"))
    core.insert(table, (2, "b"))
    copied = pickle.loads(pickle.dumps(lending.table(name("t"))))
    assert sorted(core.rows(copied)) == [(1, "a"), (2, "b")] and len(asked) == 1
    assert keys["s3.secret-key"] not in repr(table.file_io) + repr(asked[0].token())
    lend(300, **{"s3.secret-key": "another"})
    clock.time = lambda: time.time() + 14 * 60
    assert core.rows(table) and asked[0].token().options == keys
    clock.time = lambda: time.time() + 16 * 60
    assert core.rows(table) and len(asked) == 2 and asked[0].token().options["s3.secret-key"] == "another"
    clock.time = lambda: time.time() + 239 * 60
    assert core.rows(table) and len(asked) == 2  # an hour before it ends
    clock.time = lambda: time.time() + 241 * 60
    assert core.rows(table) and len(asked) == 3
    assert catalog.table(name("t")).file_io.credentials_change is False
    monkeypatch.setattr(RestClient, "get", lambda *_: {"token": None})
    with pytest.raises(CatalogUnavailableError, match=rf"returned no token for the files of {name('t')}"):
        asked[0]._vended()


def test_tables_of_which_the_server_hides_something_are_opened_by_whoever_asks_it(
    catalog: RestCatalog, rest: RestServer, name: Name
) -> None:
    rest.java("create", name("t"))
    rest.java("alter", name("t"), "query-auth.enabled", "true")
    with pytest.raises(UnsupportedError, match="query authorization supports only"):
        catalog.table(name("t"))
    table = catalog.authorized_table(name("t"))
    assert (
        isinstance(table, Table)
        and table.query_auth is not None
        and table.query_auth.authorize(["id"]) == QueryAuthResult((), {})
    )
    condition = {"name": "FIELD_REF", "fieldRef": {"index": 0, "name": "id", "type": "INT"}}
    leaf = {"kind": "LEAF", "transform": condition, "function": "EQUAL", "literals": [1]}
    rest.java("rights", name("t"), json.dumps(leaf), 'v={"name": "NULL"}')
    told = table.query_auth.authorize(["id", "v"])
    assert [f["function"] for f in told.filters] == ["EQUAL"] and told.masks == {"v": {"name": "NULL"}}


def test_external_tables_stand_anywhere_and_commit_by_their_files(
    catalog: RestCatalog, rest: RestServer, name: Name, tmp_path: Path
) -> None:
    place = f"file:{tmp_path}/far/away"
    external = replace(SCHEMA, options={**SCHEMA.options, "path": place})
    core.insert(catalog.create_table(name("t"), external), (1, "a"))
    table = catalog.table(name("t"))
    assert core.rows(table) == [(1, "a")] and table.version_management is None and table.path == place
    assert core.rows(core.again(table)) == [(1, "a")]  # whoever knows its path finds it there
    catalog.drop_table(name("t"))
    other = new_schema(FIELDS[:1], primary_keys=["id"], options=dict(external.options))
    with pytest.raises(InvalidInputError, match="does not match the definition: it has other columns"):
        catalog.create_table(name("t"), other)
    assert catalog.list_tables(name("t").database) == []
    assert core.rows(catalog.create_table(name("u"), external)) == [(1, "a")]
    assert rest.java("columns", name("u")) == ["id", "v"]
