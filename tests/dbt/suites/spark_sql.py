"""Statements of the suites that are written for another database, as Spark has them."""

from __future__ import annotations

import re
from typing import Any

_INSTEAD = {
    r"\bTEXT\b": "STRING",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
    r"(?<!TIMESTAMP)('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d')": r"TIMESTAMP\1",
    '"': "`",
}


def run_statements(project: Any, text: str) -> None:
    """Run statements that are separated by semicolons."""
    for pattern, spelling in _INSTEAD.items():
        text = re.sub(pattern, spelling, text, flags=re.IGNORECASE)
    for statement in filter(str.strip, text.split(";")):
        project.run_sql(statement)
