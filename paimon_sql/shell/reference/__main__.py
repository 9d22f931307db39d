"""Writes the reference pages."""

from __future__ import annotations

import sys
from pathlib import Path

from paimon_sql.shell.reference.pages import pages

if __name__ == "__main__":
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")
