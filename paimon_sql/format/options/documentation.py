"""Reference of all declared options as Markdown."""

from __future__ import annotations

from paimon_sql.format.options.registry import TOPICS, declared
from paimon_sql.format.options.values import UNLIMITED_INTEGER, UNLIMITED_LONG, UNLIMITED_SIZE, Option, Status, Support

_UNLIMITED = (UNLIMITED_INTEGER, UNLIMITED_LONG, UNLIMITED_SIZE)


def generate_docs() -> str:
    """Generate the reference as a Markdown page, one table per topic."""
    lines = [
        "# Options",
        "",
        "An option is a property of a table, set by `TBLPROPERTIES` or `WITH` of `CREATE TABLE` or by `ALTER TABLE`,",
        "for one session by ``SET `spark.paimon.<key>` = <value>``, for one read by a hint",
        "`/*+ OPTIONS('<key>' = '<value>') */`. In a key, `<word>` stands for any text. Options marked *fixed* cannot",
        "change once the table holds data.",
        "",
        "Every option of Paimon is known, so that tables of any engine can be kept here. Those marked *Kept for …* are",
        "validated and stored, and have an effect in the named engines on the same table; paimon-sql reads, writes and",
        "maintains the table as if they were not set, and logs a warning, once per session, when one is set. Those",
        "marked *Refused* fail the statement. All others have the described effect.",
    ]
    for title, topic in TOPICS.items():
        lines += ["", f"## {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        lines += [_row(option) for option in declared(topic)]
    return "\n".join(lines) + "\n"


def _row(option: Option[object]) -> str:
    meaning = option.meaning
    if option.allowed:
        meaning += f" Values: {', '.join(f'`{word}`' for word in option.allowed)}."
    if option.alternatives:
        meaning += f" Also read as {', '.join(f'`{key}`' for key in option.alternatives)}."
    meaning += _mark(option.status)
    if option.immutable:
        meaning += " *Fixed.*"
    cells = (f"`{option.key}`", option.kind, _default(option), meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _mark(status: Status) -> str:
    if status.standing is Support.SUPPORTED:
        return ""
    return f" *Kept for {status.by}.*" if status.standing is Support.KEPT else f" *Refused: {status.by}.*"


def _default(option: Option[object]) -> str:
    if option.default_text is None:
        return ""
    if option.default_text in _UNLIMITED:
        return "no limit"
    return f"`{option.default_text.encode('unicode_escape').decode()}`" if option.default_text else "empty"
