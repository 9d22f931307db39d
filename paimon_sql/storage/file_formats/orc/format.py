"""The ORC format."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import orc

from paimon_sql.storage.file_formats.base import FileFormat
from paimon_sql.storage.file_formats.orc.reader import read_orc
from paimon_sql.storage.file_formats.orc.schema import check_orc_fields
from paimon_sql.storage.file_formats.orc.writer import OrcWriter


class OrcFormat(FileFormat):
    """Data files in Apache ORC; without variants and vectors."""

    name = "orc"
    shreds_maps = True

    batches = staticmethod(read_orc)
    writer = staticmethod(OrcWriter)
    check_fields = staticmethod(check_orc_fields)

    def names_in(self, source: pa.NativeFile, path: str) -> list[str]:
        return list(orc.ORCFile(source).schema.names)
