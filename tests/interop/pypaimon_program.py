"""Runs inside pypaimon's own environment: reads and writes tables as the tests ask, a JSON line a request.

Rows travel as Arrow files. It imports nothing of this project, whose requirements that environment does not meet.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

import pyarrow as pa
import pypaimon


def read(catalog: Any, request: dict[str, Any]) -> None:
    """Write the table's rows to the file."""
    table = catalog.get_table(request["table"]).copy(request["options"])
    builder = table.new_read_builder()
    if request["columns"]:
        builder = builder.with_projection(request["columns"])
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    with pa.OSFile(request["file"], "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


def write(catalog: Any, request: dict[str, Any]) -> None:
    """Append, or upsert, the file's rows in one commit, their columns in the table's own Arrow types."""
    table = catalog.get_table(request["table"]).copy(request["options"])
    builder = table.new_batch_write_builder()
    if request["overwrite"] is not None:
        builder = builder.overwrite(request["overwrite"])
    writing, committing = builder.new_write(), builder.new_commit()
    schema = pypaimon.schema.data_types.PyarrowFieldParser.from_paimon_schema(table.fields)
    writing.write_arrow(_rows(request["file"]).select(schema.names).cast(schema))
    committing.commit(writing.prepare_commit())
    writing.close()
    committing.close()


def create(catalog: Any, request: dict[str, Any]) -> None:
    """Make a table with the columns of the file's rows."""
    keys, partitions, options = request["keys"], request["partitions"], request["options"]
    schema = pypaimon.Schema.from_pyarrow_schema(
        _rows(request["file"]).schema, partition_keys=partitions, primary_keys=keys, options=options
    )
    catalog.create_table(request["table"], schema, False)


def _rows(file: str) -> pa.Table:
    with pa.OSFile(file, "rb") as source:
        return pa.ipc.open_file(source).read_all()


def main() -> None:
    """Answer requests until there are no more."""
    # Whatever the library prints must not come between the answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                catalog = pypaimon.CatalogFactory.create({"warehouse": request["warehouse"]})
                {"read": read, "write": write, "create": create}[request["verb"]](catalog, request)
                answer = ""
            except Exception:
                answer = traceback.format_exc()
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
