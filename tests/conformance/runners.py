"""The shared runners, loaded from the folder beside the project, and the list of what does not pass yet."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

SHARED = Path(__file__).resolve().parents[3] / "shared"
CONFORMANCE = SHARED / "conformance"
GOLDEN = SHARED / "golden"
GAPS = Path(__file__).with_name("gaps.txt")


def load(path: Path, name: str) -> ModuleType:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def conformance_files() -> list[str]:
    """The SQL files, as area/name."""
    return sorted(p.relative_to(CONFORMANCE).as_posix() for p in CONFORMANCE.rglob("*.slt"))


def golden_cases() -> list[str]:
    """The names of the golden tables."""
    return sorted(p.parent.name for p in GOLDEN.glob("*/expected.json"))


def known_gaps(kind: str) -> dict[str, set[str]]:
    """What is known to fail, by file or case: the lines, or the names of the reads.

    A line of ``gaps.txt`` is ``conformance area/file.slt: 12 40`` or ``golden case: name; other name``.
    """
    found: dict[str, set[str]] = {}
    for line in GAPS.read_text().splitlines():
        text = line.split("#", 1)[0].strip()
        if text.startswith(f"{kind} "):
            name, _, items = text.removeprefix(f"{kind} ").partition(":")
            split = items.split(";") if kind == "golden" else items.split()
            found[name.strip()] = {item.strip() for item in split if item.strip()}
    return found


def conformance_failures(spark: object, file: str, database: str, warehouse: str) -> dict[str, str]:
    """The failing checks of a SQL file: the line of each with what was wrong."""
    run = load(CONFORMANCE / "run.py", "conformance_run")
    _, failures = run.run_file(spark, CONFORMANCE / file, database, warehouse, False)
    return {_line_of(failure): failure for failure in failures}


def golden_failures(spark: object, case: str, warehouse: str) -> dict[str, str]:
    """The failing reads of a golden table: the name of each with what was wrong."""
    check = load(GOLDEN / "check.py", "golden_check")
    render = load(CONFORMANCE / "run.py", "conformance_run").render
    _, failures = check.check_case(spark, GOLDEN / case, warehouse, render, False)
    return {failure.split(":", 1)[0]: failure for failure in failures}


def _line_of(failure: str) -> str:
    return failure.split(".slt:", 1)[1].split(":", 1)[0]
