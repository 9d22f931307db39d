"""A standalone cluster of Spark for tests: a master and workers of their own processes, from PySpark's own jars.

What runs on the workers knows nothing of the tests' environment: the package stands there as pip installs it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests import java_flags

ROOT = Path(__file__).resolve().parents[1]
_SPARK = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile("Successfully registered with (master)")
_QUICK = ["-Xmx256m", *java_flags.QUICK.split(), "-Dspark.master.rest.enabled=false"]
"""These processes do little, and should begin it soon."""
EXECUTORS = {"spark.executor.memory": "1g", "spark.executor.extraJavaOptions": java_flags.QUICK}
"""Settings of executors that do little each."""
_PATIENCE = 60.0


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        master: its address, ``spark://host:port``.
        work: where its workers keep what executors need.
    """

    master: str
    work: Path


@contextmanager
def standalone(workers: int = 2, cores: int = 2) -> Iterator[Cluster]:
    """A master and workers, each of so many cores; they end with the block."""
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-cluster-"))
    try:
        with ExitStack() as running:
            package = installed(folder / "package")
            log = running.enter_context(_process("master.Master", [], folder / "master", "127.0.0.1", package))
            master = _told(log, _MASTER)
            logs = []
            for i in range(workers):
                # Spark runs a slow task twice on different hosts only.
                place, host = folder / f"worker-{i}", f"127.0.0.{i + 1}"
                asked = ["--cores", str(cores), "--memory", "3g", "--work-dir", str(place / "work"), master]
                logs.append(running.enter_context(_process("worker.Worker", asked, place, host, package)))
            for log in logs:
                _told(log, _REGISTERED)
            yield Cluster(master, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def installed(target: Path) -> Path:
    """The package as it is when pip has installed it, in a folder of its own."""
    shutil.copytree(ROOT / "paimon_sql", target / "paimon_sql", ignore=shutil.ignore_patterns("__pycache__"))
    return target


@contextmanager
def _process(name: str, arguments: list[str], folder: Path, host: str, package: Path) -> Iterator[Path]:
    """One of the cluster's processes; the file of what it says."""
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if key in ("PATH", "JAVA_HOME", "LANG")}
    environment |= {
        "SPARK_HOME": str(_SPARK),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": host,
        "SPARK_SCALA_VERSION": next((_SPARK / "jars").glob("spark-core_*")).name.split("_")[1].split("-")[0],
        "PYTHONPATH": str(package),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    command = [java, *_QUICK, f"-Djava.io.tmpdir={folder}", "-cp", f"{_SPARK / 'jars'}/*", f"{_DEPLOY}.{name}"]
    command += ["--host", host, "--port", "0", "--webui-port", "0", *arguments]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield folder / "log"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(_PATIENCE)


def _told(log: Path, pattern: re.Pattern[str]) -> str:
    """What a log says, as soon as it does."""
    started = time.monotonic()
    while True:
        if found := pattern.search(log.read_text(errors="replace")):
            return found[1]
        if time.monotonic() - started > _PATIENCE:
            raise AssertionError(log.read_text(errors="replace"))
        time.sleep(0.1)
