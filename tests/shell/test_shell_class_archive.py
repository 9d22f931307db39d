"""``paimon-sql archive-classes``: later starts of Spark use the archive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paimon_sql.spark.session.class_archive import archive_of
from paimon_sql.spark.session.prerequisites import check_java
from tests.command import COMMAND

SHOWN = """
import paimon_sql
spark = paimon_sql.connect({warehouse!r}, **{{"spark.ui.enabled": "false"}})
print(spark.sql("SELECT 1 + 1").collect()[0][0])
print(open(f"/proc/{{spark.sparkContext._gateway.proc.pid}}/maps").read())
"""


def test_an_archive_is_used_if_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a b"))
    archive = archive_of("/usr/bin/java")
    assert archive.options() == ""
    assert archive != archive_of("/opt/java/bin/java")
    archive.directory.mkdir(parents=True)
    for content in (b"classes", b"more classes"):
        (tmp_path / "written").write_bytes(content)
        path = archive.replace(tmp_path / "written")
        assert list(archive.directory.iterdir()) == [path] and path.read_bytes() == content
        assert f'"-XX:SharedArchiveFile={path}"' in archive.options()
    path.write_bytes(b"more")
    assert archive.options() == ""
    archive.remove()
    assert list(archive.directory.iterdir()) == []


def archive_in(cache: Path, environment: dict[str, str]) -> Path:
    """The archive in a cache directory: a copy of the user's own if there is one, which takes a minute to make."""
    made = archive_of(check_java())
    if made.options():
        (user_own,) = made.directory.glob(f"{made.name}.*")
        (cache / "paimon-sql").mkdir(parents=True)
        return Path(shutil.copy(user_own, cache / "paimon-sql"))
    done = subprocess.run([*COMMAND, "archive-classes"], env=environment, capture_output=True, text=True, cwd=cache)
    assert done.returncode == 0, done.stderr
    (archive,) = (cache / "paimon-sql").iterdir()
    assert f"Spark starts from {archive} (" in done.stderr and done.stdout == ""
    return archive


def test_spark_starts_from_the_archive_and_without_a_truncated_one(tmp_path: Path) -> None:
    cache = tmp_path / "a cache"
    cache.mkdir()
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    archive = archive_in(cache, environment)

    def start() -> list[str]:
        program = SHOWN.format(warehouse=str(tmp_path / "warehouse"))
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=True
        ).stdout.splitlines()

    first, *maps = start()
    assert first == "2"
    assert any(line.endswith(str(archive)) for line in maps)
    content = archive.read_bytes()
    archive.unlink()
    archive.write_bytes(content[: len(content) // 2])
    first, *maps = start()
    assert first == "2"
    assert not any(line.endswith(str(archive)) for line in maps)


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file")}
    done = subprocess.run([*COMMAND, "archive-classes"], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and "Set XDG_CACHE_HOME to a directory." in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
