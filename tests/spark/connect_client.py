"""A process with a client of Spark Connect, without Java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

_PROGRAM = Path(__file__).with_name("connect_program.py")
_PROJECT = Path(__file__).resolve().parents[2]


class ClientError(Exception):
    """What the client's code raised: ``kind`` is its class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Client:
    """A running client."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, code: str) -> object:
        """Execute code, and return the value of its last line, as JSON can hold it.

        Raises:
            ClientError: the code raised an error.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(dedent(code).strip()) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise ClientError(answer["error"], answer["message"])
        return answer["value"]


def without_java() -> dict[str, str]:
    """The environment variables of a machine without Java, where this project can be imported."""
    kept = {key: value for key, value in os.environ.items() if "JAVA" not in key and not key.startswith("SPARK")}
    folders = [folder for folder in kept["PATH"].split(os.pathsep) if not (Path(folder) / "java").exists()]
    without = {**kept, "PATH": os.pathsep.join(folders), "PYTHONPATH": str(_PROJECT)}
    assert shutil.which("java", path=without["PATH"]) is None
    return without


@contextmanager
def client(python: Path, environment: Mapping[str, str]) -> Iterator[Client]:
    """A client that an interpreter runs."""
    command = [str(python), "-W", "ignore", str(_PROGRAM)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(environment)
    ) as process:
        yield Client(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
