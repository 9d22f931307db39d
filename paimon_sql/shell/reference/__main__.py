"""Write the references: ``python -m paimon_sql.shell.reference [FOLDER]``, by default into ``docs/reference``."""

from __future__ import annotations

import sys
from pathlib import Path

from paimon_sql.shell.reference import pages

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")
folder.mkdir(parents=True, exist_ok=True)
for name, text in pages().items():
    (folder / name).write_text(text, encoding="utf-8")
