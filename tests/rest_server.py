"""The REST server of Apache Paimon's own tests, in a JVM of its own: its classes come from Maven's registry."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from . import java_flags, packages
from .interop.conversation import Conversation
from .interop.java import classpath

ARTIFACTS = (
    "org.apache.paimon:paimon-core:1.4.2:jar:tests",
    "com.squareup.okhttp3:mockwebserver:3.14.9",
    "com.squareup.okhttp3:okhttp:3.14.9",
    "com.squareup.okio:okio:1.17.6",
    "junit:junit:4.13.2",
)
_SOURCES = ("RestServer.java", "RestRights.java", "RestReplace.java", "CatalogServer.java")
TOKEN = "a token: x=y"
_FLAGS = (*java_flags.QUICK.split(), "-Xmx512m")


@dataclass(frozen=True)
class RestServer:
    """A server that runs.

    Attributes:
        url: where it listens.
        folder: where its tables stand.
        client: Java's client in the same JVM.
    """

    url: str
    folder: Path
    client: Conversation
    _numbers: count[int]

    @property
    def options(self) -> dict[str, str]:
        """The options of its catalog."""
        return {
            "metastore": "rest",
            "uri": self.url,
            "warehouse": "lake",
            "token.provider": "bear",
            "token": TOKEN,
        }

    def new_name(self) -> str:
        """A name that no database of this server has."""
        return f"d{next(self._numbers)}"

    def java(self, *words: object) -> list[str]:
        """What Java's client of this server answers; AssertionError for an error."""
        return self.client(*words)

    def fail_after_commit(self) -> None:
        """Let the server answer with a failure to the next commit, which succeeds all the same."""
        self.java("fail")


@contextmanager
def rest_server() -> Iterator[RestServer]:
    """A server with a warehouse of its own."""
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-rest-"))
    jars = ":".join([str(folder), *classpath(), *(str(packages.fetched(a)) for a in ARTIFACTS)])
    sources = [str(Path(__file__).parent / "interop" / name) for name in _SOURCES]
    subprocess.run(["javac", "-cp", jars, "-d", str(folder), *sources], check=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["java", *_FLAGS, "-Dfile.encoding=UTF-8", "-cp", jars, "RestServer", str(folder / "w"), "lake", TOKEN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, (folder / "log").read_text()
        yield RestServer(url, folder / "w", Conversation(process), count())
    finally:
        process.communicate(timeout=30)
        shutil.rmtree(folder)
