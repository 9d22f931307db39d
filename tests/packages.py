"""What tests need from Maven's registry, fetched once and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
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


def _kept(artifact: str) -> Path:
    _, name, version, *more = artifact.split(":")
    return CACHE / f"{'-'.join([name, version, *more[1:]])}.jar"
