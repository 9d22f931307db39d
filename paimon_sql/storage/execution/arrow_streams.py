"""Tables as compressed Arrow streams, in which they travel between processes."""

from __future__ import annotations

import pyarrow as pa


def packed(rows: pa.Table) -> bytes:
    """Serialize a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(rows)
    serialized: bytes = sink.getvalue().to_pybytes()
    return serialized


def unpacked(data: bytes) -> pa.Table:
    """Return the table that `packed` serialized."""
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
