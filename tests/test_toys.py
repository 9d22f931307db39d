"""A new kind of anything is one new file: the examples of ``CONTRIBUTING.md``, added and used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.toys import SITE, TOYS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
FILES: dict[str, str] = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
"""The examples by their place in the package."""
ANSWERS: dict[str, list[list[Any]]] = {
    "a merge engine": [[1, 5], [2, 7]],
    "an aggregate function": [[1, "abc"], [2, "x"], [3, None]],
    "a changelog producer": [["+I", 1, 1], ["+I", 2, 2], ["+I", 2, 3]],
    "a bucket mode": [[1, 2, 5], [3, 1, 5]],
    "a file format": [[1, "a", None, True], [2, None, None, True], [3, "c", 4, True]],
    "a clustering order": [["a"], ["bb"], ["ccc"]],
    "a global index": [[2, "plain-list"], [4, "plain-list"]],
    "a catalog": [[1]],
    "a procedure": [[52]],
    "a system table": [[1, "k"]],
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[Any]]]:
    """The answers of a process whose packages have the toys, too."""
    toys = tmp_path_factory.mktemp("toys")
    for place, code in FILES.items():
        (toys / place).parent.mkdir(parents=True, exist_ok=True)
        (toys / place).write_text(code)
    places = [str(Path(place).parent) for place in FILES]
    (toys / "sitecustomize.py").write_text(SITE.format(places=places))
    done = subprocess.run(
        [sys.executable, "-m", "tests.toys", str(tmp_path_factory.mktemp("warehouse"))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(toys), str(ROOT)])},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[list[Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_each_kind_has_one_file_and_is_used() -> None:
    headings = re.findall(r"^### (An? .*)$", PAGE, re.MULTILINE)
    assert [heading.lower() for heading in headings] == list(TOYS)
    assert len(FILES) == len(TOYS)


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_toy_works_as_the_others_of_its_kind(answers: dict[str, list[list[Any]]], kind: str) -> None:
    assert answers[kind] == ANSWERS[kind]


def test_a_toy_of_an_index_skips_a_file(answers: dict[str, list[list[Any]]]) -> None:
    assert "LocalTableScan <empty>" in answers["a file index"][0][0]
