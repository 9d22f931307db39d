"""Runs inside pyiceberg's own environment: reads tables as the tests ask, a JSON line a request.

It imports nothing of this project.
"""

from __future__ import annotations

import base64
import json
import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable


def rows(request: dict[str, Any]) -> Any:
    """The rows, or the metadata, of a table, by the path of a file of metadata, or by its name in a catalog."""
    if "catalog" in request:
        table: Any = load_catalog("c", **request["catalog"]).load_table(request["table"])
    else:
        table = StaticTable.from_metadata(request["file"])
    if request.get("describe"):
        metadata = table.metadata
        return {
            "table-uuid": str(metadata.table_uuid),
            "properties": metadata.properties,
            "refs": {name: ref.snapshot_id for name, ref in metadata.refs.items()},
            "snapshots": [s.snapshot_id for s in metadata.snapshots],
        }
    options: dict[str, Any] = {}
    if request.get("filter"):
        options["row_filter"] = request["filter"]
    state = request.get("state")
    if isinstance(state, int):
        options["snapshot_id"] = state
    scan = table.scan(**options)
    if isinstance(state, str):
        scan = scan.use_ref(state)
    return [[plain(v) for v in row.values()] for row in scan.to_arrow().to_pylist()]


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal | date | datetime | time):
        return str(value)
    if isinstance(value, dict):
        return [plain(v) for v in value.values()]
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def main() -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin:
        try:
            answer: Any = {"rows": rows(json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
