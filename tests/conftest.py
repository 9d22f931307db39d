"""Fixtures that every room's tests share: where the shared material stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pyspark
import pytest
from hypothesis import HealthCheck, settings

from . import java_flags, object_stores, packages, rest_server, servers
from .interop import java
from .newer_rest import NewerRest, fronted

os.environ.setdefault("JAVA_TOOL_OPTIONS", java_flags.QUICK)

# The first example of a test pays for imports and caches, and a busy machine for everything. Examples are the same each
# time, so that a change is to blame for what they find; longer runs, and those with a seed, choose new ones.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeated", settings.get_profile("unhurried"), derandomize=True)
settings.load_profile("unhurried" if "PAIMON_TEST_EXAMPLES" in os.environ else "repeated")

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but for those that an older PySpark itself gives rise to."""
    if pyspark.__version__.startswith("4.1."):
        # Its DataFrame.collect leaves the socket to the garbage collector.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the project."""
    return SHARED


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden tables, written by Apache Paimon's own connector."""
    return SHARED / "golden"


class Servers:
    """The database servers of a session, each started when it is first asked for."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._known: dict[str, servers.Server] = {}
        self._numbers = count()

    def options(self, protocol: str) -> dict[str, str]:
        """The options of a JDBC catalog in a new database of such a server."""
        if protocol not in self._known:
            artifact, start = _SERVERS[protocol]
            if not packages.available(artifact):
                pytest.skip(f"{protocol} needs Maven, which fetches it once")
            self._known[protocol] = self._running.enter_context(start())
        return self._known[protocol].options(f"c{next(self._numbers)}")

    def close(self) -> None:
        """Stop them."""
        self._running.close()


_SERVERS = {
    "postgresql": (servers.POSTGRESQL, servers.postgresql),
    "mysql": (servers.MARIADB, servers.mariadb),
}


@pytest.fixture(scope="session")
def database_servers() -> Iterator[Servers]:
    """PostgreSQL and MariaDB."""
    started = Servers()
    yield started
    started.close()


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def jdbc(request: pytest.FixtureRequest, database_servers: Servers, tmp_path: Path) -> dict[str, str]:
    """The options of a JDBC catalog in an empty database of each kind, and in an empty warehouse."""
    warehouse = {"warehouse": str(tmp_path / "warehouse")}
    if request.param == "sqlite":
        return {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", **warehouse}
    return {**database_servers.options(request.param), **warehouse}


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """The options of a catalog in a store that speaks S3, and that has one bucket."""
    with object_stores.s3_store() as options:
        yield options


@pytest.fixture(scope="session")
def metastore() -> Iterator[servers.Metastore]:
    """Hive's metastore."""
    with servers.hive_metastore() as started:
        yield started


@pytest.fixture
def hive(metastore: servers.Metastore, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The options of a Hive catalog without databases but the default one, and with an empty warehouse."""
    yield {"metastore": "hive", "uri": metastore.uri, "warehouse": str(tmp_path / "warehouse")}
    with metastore.client() as client:
        for name in set(client.get_all_databases()) - {"default"}:
            client.drop_database(name, True, True)


@pytest.fixture(scope="session")
def rest() -> Iterator[rest_server.RestServer]:
    """A server of REST catalogs, whose databases tests share: each makes some of its own."""
    if not (java.available() and packages.available(*rest_server.ARTIFACTS)):
        pytest.skip("the REST server needs Maven, which fetches it once, and a JDK")
    with rest_server.rest_server() as server:
        yield server


@pytest.fixture(scope="session")
def newer_rest(rest: rest_server.RestServer) -> Iterator[NewerRest]:
    """The same server as newer versions are: it keeps partitions of format tables, and replaces tables."""
    with fronted(rest) as front:
        yield front
