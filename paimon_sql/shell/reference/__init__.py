"""Reference pages of the documentation, generated from declarations: ``python -m paimon_sql.shell.reference``."""

from __future__ import annotations

from paimon_sql.format.options import generate_docs
from paimon_sql.shell.reference.markdown import command_page, procedures_page, statements_page, system_tables_page

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """The pages in Markdown, by file name."""
    return {
        "options.md": generate_docs(),
        "procedures.md": procedures_page(),
        "system_tables.md": system_tables_page(),
        "cli.md": command_page(),
        "statements.md": statements_page(),
    }
