"""OpenLineage's own listener, in a Spark of its own, sends events with our tables by their names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import packages
from tests.web import Handler, listening

ARTIFACT = "io.openlineage:openlineage-spark_2.13:1.53.0"
PROGRAM = Path(__file__).with_name("openlineage_program.py")
STATEMENTS = {
    "create": "CREATE TABLE orders (id INT NOT NULL, city STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')",
    "append": "INSERT INTO orders VALUES (1, 'Oslo'), (2, 'Lima')",
    "as select": "CREATE TABLE cities AS SELECT city, count(*) AS orders FROM orders GROUP BY city",
    "insert": "INSERT INTO cities SELECT city, 1L FROM orders WHERE id > 1",
    "overwrite": "INSERT OVERWRITE cities SELECT city, count(*) FROM orders GROUP BY city",
    "changes": "CREATE TABLE changes AS SELECT id, city FROM orders$audit_log",
    "update": "UPDATE orders SET city = 'Rome' WHERE id = 1",
    "delete": "DELETE FROM orders WHERE city IN (SELECT city FROM cities WHERE orders > 5)",
    "merge": "MERGE INTO orders USING changes AS c ON orders.id = c.id"
    " WHEN MATCHED THEN UPDATE SET city = c.city WHEN NOT MATCHED THEN INSERT *",
    "from files": "MERGE INTO orders USING parquet.`{files}` AS c ON orders.id = c.id WHEN NOT MATCHED THEN INSERT *",
    "fail": "UPDATE orders SET id = 1 / 0 WHERE id = 1",
    "properties": "SHOW TBLPROPERTIES orders",
    "definition": "SHOW CREATE TABLE orders",
}

pytestmark = pytest.mark.skipif(not packages.available(ARTIFACT), reason="OpenLineage's listener cannot be had here")


@dataclass
class Collector:
    """What the listener sent, and what the statements answered."""

    warehouse: str
    files: str
    events: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, list[list[str]]] = field(default_factory=dict)

    def edges(self) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The inputs and outputs of the runs that have both or outputs, by name."""
        runs: dict[str, tuple[set[str], set[str]]] = {}
        for event in self.events:
            inputs, outputs = runs.setdefault(event["run"]["runId"], (set(), set()))
            inputs |= {dataset["name"] for dataset in event["inputs"]}
            outputs |= {dataset["name"] for dataset in event["outputs"]}
        return {(tuple(sorted(inputs)), tuple(sorted(outputs))) for inputs, outputs in runs.values() if outputs}

    def datasets(self) -> dict[str, dict[str, Any]]:
        """All datasets, by name."""
        return {d["name"]: d for event in self.events for d in [*event["inputs"], *event["outputs"]]}

    def of_job(self, ending: str) -> list[dict[str, Any]]:
        """The events of the jobs whose names end so."""
        return [event for event in self.events if event["job"]["name"].endswith(ending)]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """All statements, run once."""
    folder = tmp_path_factory.mktemp("lineage")
    found = Collector(f"file://{folder}/lake", str(folder / "files"))
    write_parquet(folder / "files")

    class Events(Handler):
        def do_POST(self) -> None:
            found.events.append(json.loads(self.request_body()))
            self.send_response(201)
            self.end_headers()

    with listening(Events) as url:
        statements = [text.format(files=found.files) for text in STATEMENTS.values()]
        found.answers = run(folder / "lake", url, statements)
    yield found


def write_parquet(folder: Path) -> None:
    """A directory with a file of orders."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    pq.write_table(pa.table({"id": pa.array([9], pa.int32()), "city": ["Bern"]}), folder / "part.parquet")


def run(warehouse: Path, url: str, statements: Sequence[str]) -> dict[str, list[list[str]]]:
    """Run statements with the listener; return their answers by the names of `STATEMENTS`."""
    jar = packages.fetched(ARTIFACT)
    command = [sys.executable, str(PROGRAM), str(warehouse), str(jar), url, json.dumps(statements)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return dict(zip(STATEMENTS, map(json.loads, done.stdout.splitlines()), strict=True))


def test_statements_name_what_they_read_and_write(collector: Collector) -> None:
    edges = collector.edges()
    assert ((), ("default.orders",)) in edges  # INSERT … VALUES
    assert (("default.orders",), ("default.cities",)) in edges
    assert (("default.orders",), ("default.changes",)) in edges  # by a system table


def test_columns_name_those_that_they_come_from(collector: Collector) -> None:
    facets = collector.of_job(".append_data_exec_v1.paimon_default_cities")[-1]["outputs"][0]["facets"]
    (source,) = facets["columnLineage"]["fields"]["city"]["inputFields"]
    assert (source["name"], source["field"]) == ("default.orders", "city")


def test_changes_of_rows_are_runs_with_inputs_outputs_and_counts(collector: Collector) -> None:
    edges = collector.edges()
    assert (("default.cities",), ("default.orders",)) in edges
    assert (("default.changes",), ("default.orders",)) in edges
    assert ((collector.files,), ("default.orders",)) in edges
    started, completed = collector.of_job(".update_default_orders")[:2]
    assert (started["eventType"], completed["eventType"]) == ("START", "COMPLETE")
    assert started["run"]["runId"] == completed["run"]["runId"]
    assert completed["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assert completed["job"]["facets"]["sql"]["query"] == STATEMENTS["update"]
    application = next(e for e in collector.events if e["run"]["runId"] == parent_of(completed))
    assert application["job"]["name"] == completed["run"]["facets"]["parent"]["job"]["name"]


def test_a_failed_change_is_a_failed_run(collector: Collector) -> None:
    failed = collector.of_job(".update_default_orders")[-1]
    assert failed["eventType"] == "FAIL" and failed["run"]["facets"]["errorMessage"]["message"]


def test_a_table_is_named_by_its_warehouse_and_database_and_location(collector: Collector) -> None:
    orders = collector.datasets()["default.orders"]
    assert orders["namespace"] == collector.warehouse
    (link,) = orders["facets"]["symlinks"]["identifiers"]
    location = f"{collector.warehouse.removeprefix('file://')}/default.db/orders"
    assert link == {"namespace": "file", "name": location, "type": "LOCATION"}
    names = [f["name"] for event in collector.events for d in event["inputs"] if d["name"] == "default.orders"
             for f in d["facets"].get("schema", {}).get("fields", [])]  # fmt: skip
    assert {"id", "city"} <= set(names)


def test_nobody_else_sees_these_properties(collector: Collector) -> None:
    shown = json.dumps([collector.answers["properties"], collector.answers["definition"]])
    assert "openlineage" not in shown and "primary-key" in shown


def parent_of(event: Mapping[str, Any]) -> str:
    """The run that an event's run belongs to."""
    found: str = event["run"]["facets"]["parent"]["run"]["runId"]
    return found
