"""What an installed package holds."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "paimon_sql"


def test_files_that_are_no_modules_are_named_for_the_package() -> None:
    declared = re.search(
        r"\[tool\.setuptools\.package-data\]\npaimon_sql = \[(.*)\]", (ROOT / "pyproject.toml").read_text()
    )
    assert declared is not None
    others = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts
    }
    assert others == set(re.findall(r'"([^"]+)"', declared[1]))
