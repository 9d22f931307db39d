"""Reference page of the stored procedures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from paimon_sql.format.schema.types import DataField
from paimon_sql.procedures import Procedure, procedures
from paimon_sql.shell.reference.markdown import code, sentence, table

_HEAD = (
    "# Procedures",
    "",
    "Every procedure stands in `sys` and is called by `CALL`, with arguments by name or in this order. One that",
    "is not marked *required* may be left out. Answers marked + are ours, the others are those of",
    "Apache Paimon's own connector. How calls are written says [Procedures](../procedures.md).",
)


def procedures_page() -> str:
    """The page: procedures with arguments, results and an example."""
    return "\n".join([*_HEAD, *(line for p in procedures().values() for line in _section(p))]) + "\n"


def _section(procedure: Procedure) -> Iterator[str]:
    yield from ("", f"## {procedure.name}", "", procedure.summary, "", inspect.getdoc(type(procedure)) or "")
    yield from ("", "```", procedure.example, "```")
    arguments = (
        (code(a.name), a.type.as_nullable().sql(), sentence(a.meaning) + (" *Required.*" if a.required else ""))
        for a in procedure.arguments
    )
    yield from table(("argument", "type", "meaning"), arguments)
    results = [*(_result(c, "") for c in procedure.results), *(_result(c, " +") for c in procedure.details)]
    yield from table(("answer", "type", "meaning"), results)


def _result(column: DataField, mark: str) -> tuple[str, str, str]:
    return code(column.name) + mark, column.type.as_nullable().sql(), sentence(column.description or "")
