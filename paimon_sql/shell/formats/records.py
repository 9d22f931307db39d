"""Records of Python as results, in any output format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from paimon_sql.shell.engine.rows import Column, Row
from paimon_sql.shell.formats.base import Format


def show_records(form: Format, columns: Sequence[Column], records: Iterable[Mapping[str, object]]) -> None:
    """Print records as a result.

    Args:
        form: the output format.
        columns: the columns.
        records: their values by name.
    """
    form.begin(columns)
    rows: list[Row] = [
        (json.dumps(record, ensure_ascii=False, default=_text),)
        if form.encoding == "json"
        else tuple(map(_text, record.values()))
        for record in records
    ]
    if rows:
        form.write(rows)
    form.end()


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return value.isoformat(" ") if isinstance(value, datetime) else f"{value}"
