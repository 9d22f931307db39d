"""ALTER TABLE and views in the Python API, and tables outside of warehouses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.format.schema.types import BigIntType, DataField
from tests.api.test_reads import rows


def test_a_definition_changes_in_one_step(catalog: Catalog, keyed: Table) -> None:
    keyed.append(rows(3))
    changed = keyed.alter(
        drop=["paid"],
        rename={"note": "remark"},
        add={"weight": pa.float32(), "place": pa.struct([("city", pa.string())])},
        types={"weight": pa.float64()},
        comments={"remark": "by hand", "id": "the number"},
        options={"snapshot.num-retained.max": "20"},
        comment="orders of the shop",
    )
    assert changed.schema.names == ["id", "day", "amount", "remark", "at", "weight", "place"]
    assert changed.schema.field("weight").type == pa.float64()
    assert changed.comment == "orders of the shop" and changed.options["snapshot.num-retained.max"] == "20"
    assert keyed.schema.names[3] == "note" and keyed.scan().count() == 3
    assert [f.description for f in schemas_of(changed)[-1]][:1] == ["the number"]
    assert len(schemas_of(changed)) == 2
    found = changed.scan("id = 1").to_arrow().to_pylist()
    assert found[0]["remark"] == "n_1%" and found[0]["weight"] is None
    changed.upsert([{"id": 1, "day": "b", "weight": 2.5, "place": {"city": "Ulm"}}])
    assert changed.scan("weight > 2", ["place"]).to_arrow().to_pylist() == [{"place": {"city": "Ulm"}}]


def schemas_of(table: Table) -> list[list[DataField]]:
    """The columns of all schemas, oldest first."""
    return [list(table._stored.schemas.get(i).fields) for i in table._stored.schemas.ids()]


def test_options_comments_and_nested_fields_change(keyed: Table) -> None:
    table = keyed.alter(add={"place": pa.struct([("city", pa.string())]), "`a.b`": pa.int8()})
    table = table.alter(add={"place.zip": pa.int32()}, rename={"place.city": "town"}, nullable={"`a.b`": True})
    assert table.schema.field("place").type == pa.struct([("town", pa.string()), ("zip", pa.int32())])
    assert table.schema.field("a.b").type == pa.int8()
    table = table.alter(options={"snapshot.num-retained.max": "20"}).alter(options={"snapshot.num-retained.max": None})
    assert table.options == {"bucket": "2"}
    assert table.comment == "by key" and table.alter(comment="").comment is None
    assert table.alter().schema == table.schema


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"drop": ["nosuch"]}, "'nosuch' does not exist"),
        ({"drop": ["id"]}, "primary key column"),
        ({"rename": {"day": "date"}}, "partition column"),
        ({"rename": {"note": "amount"}}, "exists already"),
        ({"add": {"note": pa.string()}}, "exists already"),
        ({"add": {"u": pa.uint64()}}, "uint64 has no counterpart"),
        ({"types": {"note": pa.list_(pa.int8())}, "drop": ["amount"]}, "cannot change from"),
        ({"nullable": {"note": False}}, "cannot become NOT NULL"),
        ({"nullable": {"id": True}}, "cannot become nullable"),
        ({"options": {"bucket": "many"}}, "bucket"),
        ({"options": {"bukcet": "2"}}, "bukcet"),
        ({"drop": ["a..b"]}, "is not the name of a column"),
        ({"drop": [""]}, "is not the name of a column"),
    ],
)
def test_changes_that_are_not_possible_change_nothing(keyed: Table, change: dict[str, object], says: str) -> None:
    keyed.append(rows(3))
    with pytest.raises(errors.PaimonError, match=says):
        keyed.alter(**change)  # type: ignore[arg-type]
    assert len(schemas_of(keyed)) == 1


def test_a_branch_has_its_own_definition(keyed: Table) -> None:
    keyed.append(rows(2))
    keyed.call("create_branch", branch="audit")
    audit = keyed.branch("audit").alter(add={"seen": pa.bool_()})
    assert audit.name == "shop.keyed$branch_audit" and "seen" in audit.schema.names
    assert "seen" not in keyed.schema.names


def test_views_are_listed_and_shown(catalog: Catalog, plain: Table) -> None:
    fields = (DataField(0, "id", BigIntType()),)
    made = ViewSchema(fields, "SELECT id FROM plain", {"flink": "SELECT `id` FROM plain"}, "all ids", {"owner": "ada"})
    catalog._catalog.create_view(Identifier("shop", "ids"), made)
    assert catalog.views("shop") == ["ids"] and catalog.tables("shop") == ["plain"]
    view = catalog.view("shop.ids")
    assert view.name == "shop.ids" and view.schema == pa.schema([("id", pa.int64())])
    assert view.query_for("spark") == "SELECT id FROM plain" and view.query_for("flink") == "SELECT `id` FROM plain"
    assert view.comment == "all ids" and view.options == {"owner": "ada"}
    with pytest.raises(errors.NoSuchViewError):
        catalog.view("shop.plain")
    with pytest.raises(errors.NoSuchTableError, match="is a view"):
        catalog.table("shop.ids")
    with pytest.raises(errors.NoSuchDatabaseError):
        catalog.views("nosuch")


def test_a_table_anywhere_is_opened_by_its_directory(
    keyed: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed.append(rows(4))
    keyed.call("create_branch", branch="audit")
    moved = tmp_path / "some.where" / "orders"
    shutil.copytree(keyed.path, moved)
    monkeypatch.chdir(tmp_path)
    for path in (moved, str(moved), f"{moved}/", "some.where/orders", moved.as_uri()):
        assert paimon_sql.open_table(path).scan().count() == 4
    table = paimon_sql.open_table(moved)
    assert table.name == table.path == str(moved)
    table.upsert([{"id": 9, "day": "a"}])
    assert table.delete("id = 0") == 1 and table.update({"note": "x"}, "id = 9") == 1
    table.call("compact")
    table.call("create_tag", tag="now")
    assert table.tags() == {"now": table.snapshots()[-1].id}
    assert table.alter(add={"more": pa.int8()}).schema.names[-1] == "more"
    assert table.metadata("files").num_rows > 0
    branch = paimon_sql.open_table(f"{moved}$branch_audit")
    branch.append([{"id": 50, "day": "b"}])
    assert branch.scan("id = 50").count() == table.branch("audit").scan("id = 50").count() == 1
    with pytest.raises(errors.InvalidInputError, match="is a system table"):
        paimon_sql.open_table(f"{moved}$files")
    with pytest.raises(errors.NoSuchTableError, match="There is no Paimon table at"):
        paimon_sql.open_table(tmp_path)
