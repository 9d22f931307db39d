"""What a release holds: the source distribution, the wheel that is built from it, and what an installed one can do."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import paimon_sql
from tests.windows import is_refused

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "paimon_sql"
_LINKED = ("procedures", "system_tables")
"""Directories of the checkout that are packages of ours by symbolic links."""
_SOURCES = ("paimon_sql", "dbt", *_LINKED)
_BESIDE = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")


@dataclass(frozen=True)
class Release:
    """The files of a release.

    Attributes:
        sdist: the source distribution.
        wheel: the wheel that was built from it.
        direct: the wheel that was built from the checkout.
    """

    sdist: Path
    wheel: Path
    direct: Path


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release of a copy of the checkout, in which nothing of earlier builds is left."""
    place = tmp_path_factory.mktemp("release")
    checkout = place / "checkout"
    checkout.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in _SOURCES:
        shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=unwanted)
    for name in _BESIDE:
        shutil.copy(ROOT / name, checkout / name)
    for arguments in ((), ("--wheel", "--outdir", str(place / "direct"))):
        command = [sys.executable, "-m", "build", "--no-isolation", *arguments, str(checkout)]
        subprocess.run(command, check=True, capture_output=True)
    (sdist,), (wheel,) = (list((checkout / "dist").glob(pattern)) for pattern in ("*.tar.gz", "*.whl"))
    return Release(sdist, wheel, next((place / "direct").glob("*.whl")))


def modules() -> Iterator[str]:
    """The modules of the product, by their places in the package."""
    for name in _SOURCES:
        for path in (ROOT / name).rglob("*.py"):
            if "__pycache__" not in path.parts:
                yield Path("paimon_sql" if name in _LINKED else "", path.relative_to(ROOT)).as_posix()


def others() -> set[str]:
    """The files of the package that are no modules."""
    return {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts
    }


def macros() -> set[Path]:
    """The files of dbt's package that are no modules."""
    found = (ROOT / "dbt" / "include" / "paimon").rglob("*")
    return {path for path in found if path.is_file() and path.suffix not in (".py", ".pyc")}


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_files_that_are_no_modules_are_named_for_the_package() -> None:
    declared = re.search(
        r"\[tool\.setuptools\.package-data\]\npaimon_sql = \[(.*)\]", (ROOT / "pyproject.toml").read_text()
    )
    assert declared is not None
    assert others() == set(re.findall(r'"([^"]+)"', declared[1]))


def test_the_wheel_holds_the_package_and_nothing_else(release: Release) -> None:
    about = f"paimon_sql-{paimon_sql.__version__}.dist-info"
    metadata = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE")
    wanted = {*modules(), *(f"paimon_sql/{name}" for name in others()), *(f"{about}/{name}" for name in metadata)}
    wanted |= {path.relative_to(ROOT).as_posix() for path in macros()}
    found = contents(release.wheel)
    assert found.keys() == wanted
    assert release.wheel.name == f"paimon_sql-{paimon_sql.__version__}-py3-none-any.whl"
    assert found["paimon_sql/procedures/__init__.py"] == (ROOT / "procedures/__init__.py").read_bytes()


def test_the_source_distribution_builds_the_same_wheel_as_the_checkout(release: Release) -> None:
    assert contents(release.wheel) == contents(release.direct)


def test_the_source_distribution_needs_no_links(release: Release) -> None:
    with tarfile.open(release.sdist) as archive:
        members = archive.getmembers()
    assert [m.name for m in members if not (m.isfile() or m.isdir())] == []
    tops = {m.name.split("/")[1] for m in members if "/" in m.name}
    assert tops == {*_BESIDE, "paimon_sql", "dbt", "paimon_sql.egg-info", "PKG-INFO", "setup.cfg"}


def test_names_in_a_release_suit_windows(release: Release) -> None:
    names = list(contents(release.wheel))
    assert [name for name in names if any(is_refused(part) for part in name.split("/"))] == []
    assert len({name.lower() for name in names}) == len(names)
    assert max(map(len, names)) < 120  # of 260 with the directory of an environment


def test_a_release_states_its_version_once(release: Release) -> None:
    name = f"paimon_sql-{paimon_sql.__version__}.dist-info/METADATA"
    metadata = Parser().parsestr(contents(release.wheel)[name].decode())
    assert metadata["Version"] == paimon_sql.__version__
    assert metadata["Requires-Python"] == ">=3.10" and metadata["License-Expression"] == "Apache-2.0"
    assert "0.2" in paimon_sql.__version__
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", paimon_sql.__version__]


def test_an_unpacked_wheel_works_away_from_the_checkout(release: Release, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with ZipFile(release.wheel) as archive:
        archive.extractall(site)
    program = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import pyarrow as pa, paimon_sql\n"
        f"assert paimon_sql.__file__.startswith({str(site)!r})\n"
        "catalog = paimon_sql.open_catalog('w'); catalog.create_database('d')\n"
        "table = catalog.create_table('d.t', pa.schema([('a', pa.int64())]), primary_key=['a'])\n"
        "table.upsert([{'a': 1}]); table.call('compact'); table.call('report', path='report.html')\n"
        "import paimon_sql.spark.session.embedded as embedded; assert embedded._LOGGING.exists()\n"
        "from paimon_sql.shell.main import main\n"
        "sys.argv = ['paimon-sql', 'call', 'sys.create_tag', '--table', 'd.t', '--tag', 'x', '--warehouse', 'w']\n"
        "try: main()\n"
        "except SystemExit as ended: assert not ended.code\n"
        "assert catalog.table('d.t').tags()['x']; print('works')"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1:] == ["works"], ended.stderr


def test_macros_of_dbt_are_named_for_the_package() -> None:
    declared = re.search(r"^\"dbt\.include\.paimon\" = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    include = ROOT / "dbt" / "include" / "paimon"
    named = {path for pattern in re.findall(r'"([^"]+)"', declared[1]) for path in include.glob(pattern)}
    assert named == macros()


def test_the_adapter_is_a_part_of_dbts_own_package() -> None:
    assert not list((ROOT / "dbt").glob("*.py")) + list((ROOT / "dbt").glob("*/*.py"))
