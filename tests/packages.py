"""What tests need from Maven's registry, fetched once and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "paimon-sql-tests"


def available(*artifacts: str) -> bool:
    """Whether all of these can be had: they are kept, or Maven is there."""
    return bool(shutil.which("mvn")) or all(_kept(a).exists() for a in artifacts)


def fetched(artifact: str) -> Path:
    """The jar of an artifact, ``group:name:version`` or ``group:name:version:jar:classifier``.

    Several processes may ask at once.
    """
    jar = _kept(artifact)
    if not jar.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            goal = [
                "dependency:copy",
                f"-Dartifact={artifact}",
                f"-DoutputDirectory={folder}",
            ]
            subprocess.run(["mvn", "-q", "-B", *goal], check=True, cwd=folder)
            (Path(folder) / jar.name).replace(jar)
    return jar


def fetched_together(name: str, artifacts: Sequence[str], without: Sequence[str] = ()) -> list[Path]:
    """The jars of artifacts and of all that these need, kept under a name.

    Args:
        name: the name.
        artifacts: each ``group:name:version``.
        without: what is left out of that, each ``group:name`` or ``group:*``.
    """
    folder = CACHE / name
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        left_out = "".join(f"<exclusion>{_xml(a)}</exclusion>" for a in without)
        wanted = "".join(f"<dependency>{_xml(a)}<exclusions>{left_out}</exclusions></dependency>" for a in artifacts)
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            Path(made, "pom.xml").write_text(
                f"<project><modelVersion>4.0.0</modelVersion>{_xml('tests:tests:1')}"
                f"<dependencies>{wanted}</dependencies></project>"
            )
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={made}/jars"]
            subprocess.run(["mvn", "-q", "-B", *goal], check=True, cwd=made)
            with suppress(OSError):  # another process was quicker
                Path(made, "jars").rename(folder)
    return sorted(folder.glob("*.jar"))


def _xml(artifact: str) -> str:
    """An artifact as Maven's projects name it."""
    names = ("groupId", "artifactId", "version")
    return "".join(f"<{name}>{part}</{name}>" for name, part in zip(names, artifact.split(":"), strict=False))


def _kept(artifact: str) -> Path:
    _, name, version, *more = artifact.split(":")
    return CACHE / f"{'-'.join([name, version, *more[1:]])}.jar"
