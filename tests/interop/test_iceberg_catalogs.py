"""Tables registered in catalogs of Iceberg's, where readers find them by name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.hive.catalog import HiveCatalog
from paimon_sql.catalog.iceberg.tables import database_shown_no_more, shown_again, withdrawing
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CatalogUnavailableError, InvalidOptionError, NoSuchDatabaseError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, string_type
from paimon_sql.storage.iceberg.publish import publish
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.servers import Metastore
from tests.storage import commits

from .iceberg_side import JavaIceberg, PyIceberg, java_program

FIELDS = (DataField(0, "id", IntType(False)), DataField(1, "v", string_type()))
T, U = Identifier("d", "t"), Identifier("d", "u")


@pytest.fixture
def catalog(tmp_path: Path) -> FileSystemCatalog:
    """A catalog with a database ``d``."""
    catalog = FileSystemCatalog("lake", {"warehouse": str(tmp_path / "warehouse")})
    catalog.create_database("d", {})
    return catalog


@pytest.fixture(scope="module")
def rest_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a REST catalog that Iceberg's own handlers answer for."""
    if not JavaIceberg.available():
        pytest.skip("Iceberg's Java library needs Maven, which fetches it once, and a JDK")
    server = subprocess.Popen(
        java_program("IcebergRestServer", tmp_path_factory.mktemp("rest")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    server.communicate(timeout=30)


def made(catalog: Catalog, options: dict[str, str], identifier: Identifier = T) -> Table:
    catalog.create_table(identifier, new_schema(FIELDS, options=options))
    return catalog.table(identifier)


def insert(catalog: Catalog, *rows: tuple[Any, ...], identifier: Identifier = T) -> None:
    table = catalog.table(identifier)
    schema = arrow_schema(table.schema.fields)
    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    commits.append(table, plan_write(table).run([pa.RecordBatch.from_arrays(columns, schema=schema)]))


def test_hives_metastore_leads_to_the_newest_metadata(
    catalog: FileSystemCatalog, metastore: Metastore, hive: dict[str, str], pyiceberg: PyIceberg
) -> None:
    options = {
        "metadata.iceberg.storage": "hive-catalog",
        "metadata.iceberg.uri": metastore.uri,
        "metadata.iceberg.database": "ice; more",
        "metadata.iceberg.table": "called",
    }
    made(catalog, options)
    insert(catalog, (1, "a"))
    asked = {"type": "hive", "uri": metastore.uri}
    assert pyiceberg.read_catalog("ice.called", **asked) == [[1, "a"]]
    insert(catalog, (2, "b"))
    assert pyiceberg.read_catalog("ice.called", **asked) == [[1, "a"], [2, "b"]]
    assert pyiceberg.read_catalog("more.called", **asked) == [[1, "a"], [2, "b"]]
    entry = metastore.table("ice", "called")
    assert entry.parameters["table_type"] == "ICEBERG"
    assert entry.parameters["previous_metadata_location"].endswith("/iceberg/d/t/metadata/v1.metadata.json")
    catalog.alter_table(T, lambda schema: apply_changes(schema, [AddColumn(("n",), BigIntType())], has_data=True))
    assert pyiceberg.read_catalog("ice.called", **asked) == [[1, "a", None], [2, "b", None]]
    assert [c.name for c in metastore.table("ice", "called").sd.cols] == ["id", "v", "n"]
    with withdrawing(catalog, T):
        catalog.rename_table(T, U)
    shown_again(catalog, U)
    assert pyiceberg.read_catalog("ice.called", **asked) == [[1, "a", None], [2, "b", None]]
    with withdrawing(catalog, U):
        catalog.drop_table(U)
    with metastore.client() as client:
        assert client.get_all_tables("ice") == []


def test_an_entry_that_is_none_of_icebergs_is_left_alone(
    catalog: FileSystemCatalog, metastore: Metastore, hive: dict[str, str]
) -> None:
    ours = HiveCatalog("hive", hive)
    ours.create_database("d", {})
    table = made(ours, {"metadata.iceberg.storage": "hive-catalog", "metadata.iceberg.uri": metastore.uri})
    insert(ours, (1, "a"))
    assert metastore.table("d", "t").parameters["table_type"] == "PAIMON"
    with pytest.raises(InvalidOptionError, match=r"d\.t in Hive's metastore is not an Iceberg table"):
        publish(ours.table(T))
    assert table.snapshots.latest_id() == 1


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_rest_catalog_is_told_of_each_change(
    version: str, catalog: FileSystemCatalog, rest_uri: str, pyiceberg: PyIceberg
) -> None:
    options = {
        "metadata.iceberg.storage": "rest-catalog",
        "metadata.iceberg.rest.uri": rest_uri,
        "metadata.iceberg.rest.warehouse": "w",
        "metadata.iceberg.database": f"v{version}",
        "metadata.iceberg.format-version": version,
        "metadata.iceberg.table-properties.owner": "me",
    }
    made(catalog, options)
    asked, name = {"type": "rest", "uri": rest_uri}, f"v{version}.t"
    insert(catalog, (1, "a"))
    assert pyiceberg.read_catalog(name, **asked) == [[1, "a"]]
    uuid = pyiceberg.described(name, **asked)["table-uuid"]
    insert(catalog, (2, "b"))
    create_tag(catalog.table(T), "second")
    catalog.alter_table(T, lambda s: apply_changes(s, [AddColumn(("n",), BigIntType())], has_data=True))
    insert(catalog, (3, "c", 7))
    assert pyiceberg.read_catalog(name, **asked) == [[1, "a", None], [2, "b", None], [3, "c", 7]]
    told = pyiceberg.described(name, **asked)
    assert (told["table-uuid"], told["properties"]["owner"]) == (uuid, "me")
    assert told["refs"]["second"] == 2
    assert told["snapshots"] == [1, 2, 3]
    rollback_to_snapshot(catalog.table(T), 2)
    assert pyiceberg.read_catalog(name, **asked) == [[1, "a", None], [2, "b", None]]
    insert(catalog, (4, "d", 8))
    assert pyiceberg.read_catalog(name, **asked) == [[1, "a", None], [2, "b", None], [4, "d", 8]]
    delete_tags(catalog.table(T), ["second"])
    assert "second" not in pyiceberg.described(name, **asked)["refs"]
    with withdrawing(catalog, T):
        catalog.drop_table(T)
    with pytest.raises(AssertionError, match="NoSuchTableError"):
        pyiceberg.read_catalog(name, **asked)


def test_a_database_that_goes_takes_its_tables_from_all_catalogs(
    catalog: FileSystemCatalog, rest_uri: str, metastore: Metastore, hive: dict[str, str], pyiceberg: PyIceberg
) -> None:
    rest = {"metadata.iceberg.storage": "rest-catalog", "metadata.iceberg.rest.uri": rest_uri}
    made(catalog, {**rest, "metadata.iceberg.database": "gone"})
    hives = {"metadata.iceberg.storage": "hive-catalog", "metadata.iceberg.uri": metastore.uri}
    made(catalog, {**hives, "metadata.iceberg.database": "ice"}, U)
    for identifier in (T, U):
        insert(catalog, (1, "a"), identifier=identifier)
    at_rest, at_hive = {"type": "rest", "uri": rest_uri}, {"type": "hive", "uri": metastore.uri}
    assert pyiceberg.read_catalog("gone.t", **at_rest) == pyiceberg.read_catalog("ice.u", **at_hive) == [[1, "a"]]
    with pytest.raises(OSError, match="in the middle"), database_shown_no_more(catalog, "d"):
        catalog.drop_table(T)
        raise OSError("in the middle")
    with pytest.raises(AssertionError, match="NoSuchTableError"):
        pyiceberg.read_catalog("gone.t", **at_rest)
    assert pyiceberg.read_catalog("ice.u", **at_hive) == [[1, "a"]]
    with database_shown_no_more(catalog, "d"):
        catalog.drop_database("d", cascade=True)
    with metastore.client() as client:
        assert client.get_all_tables("ice") == []
    assert list(Path(catalog.warehouse, "iceberg").iterdir()) == []
    with pytest.raises(NoSuchDatabaseError), database_shown_no_more(catalog, "d"):
        catalog.drop_database("d", cascade=True)


def test_a_catalog_that_does_not_answer_fails_no_commit(catalog: FileSystemCatalog) -> None:
    made(catalog, {"metadata.iceberg.storage": "rest-catalog", "metadata.iceberg.rest.uri": "http://127.0.0.1:1"})
    insert(catalog, (1, "a"))
    insert(catalog, (2, "b"))
    assert catalog.table(T).snapshots.latest_id() == 2
    with pytest.raises(CatalogUnavailableError, match="does not answer"):
        publish(catalog.table(T))
