"""Registries that fill themselves: a lookup imports the module of its name, a listing all."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from paimon_sql.discovery import Named, by_name, instances

FILES = {
    "__init__.py": "",
    "base.py": "class Kind: ...",
    "kinds/__init__.py": "",
    "kinds/first_kind.py": "class First(Kind):\n    name = 'first-kind'",
    "kinds/several.py": "class One(Kind):\n    name = 'one'\nclass Two(Kind):\n    name = 'a'",
    "kinds/inner/__init__.py": "",
    "kinds/inner/deep.py": "class Deep(Kind):\n    name = 'deep'\nclass _Hidden(Kind):\n    name = 'hidden'",
    "kinds/packed/__init__.py": "",
    "kinds/packed/form.py": "class Packed(Kind):\n    name = 'packed'",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package of kinds, none of whose modules is imported."""
    name = f"house_{tmp_path.name.replace('-', '_')}"
    for place, text in FILES.items():
        path = tmp_path / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"from {name}.base import Kind\n{text}" if "(Kind)" in text else text)
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}.kinds"


@pytest.fixture
def kinds(package: str) -> Mapping[str, type[Named]]:
    return by_name(package, _kind(package))


def _kind(package: str) -> type[Named]:
    base = __import__(package.replace(".kinds", ".base"), fromlist=["Kind"])
    kind: type[Named] = base.Kind
    return kind


def imported(package: str) -> set[str]:
    """The imported modules of the package that define kinds."""
    modules = {name.removeprefix(f"{package}.") for name in sys.modules if name.startswith(f"{package}.")}
    return modules - {"inner", "packed"}


@pytest.mark.parametrize(
    ("name", "module"), [("first-kind", "first_kind"), ("deep", "inner.deep"), ("packed", "packed.form")]
)
def test_a_lookup_imports_the_module_or_package_of_its_name(
    package: str, kinds: Mapping[str, type[Named]], name: str, module: str
) -> None:
    assert imported(package) == set()
    assert kinds[name].name == name
    assert imported(package) == {module}


def test_a_name_in_another_module_is_found_in_all(package: str, kinds: Mapping[str, type[Named]]) -> None:
    assert kinds["a"].__name__ == "Two"
    assert "packed.form" in imported(package)


def test_unknown_and_private_names_are_missing(kinds: Mapping[str, type[Named]]) -> None:
    assert "none" not in kinds and "hidden" not in kinds
    assert kinds.get("several") is None
    with pytest.raises(KeyError):
        kinds["kinds"]


def test_a_listing_has_all_in_order(package: str, kinds: Mapping[str, type[Named]]) -> None:
    assert kinds["deep"] is kinds["deep"]
    assert list(kinds) == ["first-kind", "deep", "packed", "one", "a"]
    assert list(instances(package, _kind(package))) == ["a", "deep", "first-kind", "one", "packed"]


def test_an_instance_is_made_once(package: str) -> None:
    made = instances(package, _kind(package))
    assert made["one"] is made["one"]
    assert made["one"] in list(made.values())
