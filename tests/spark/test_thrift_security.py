"""Who may connect: names and passwords of a real directory, and a connection that nobody else can read."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.thrift.server import HOST, PORT, ThriftServer
from paimon_sql.sqlalchemy import driver
from tests.packages import available, fetched

DIRECTORY = "com.unboundid:unboundid-ldapsdk:7.0.3"
PEOPLE = """\
dn: dc=example,dc=org
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: uid=ada,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ada
cn: Ada
sn: Lovelace
userPassword: secret
"""

pytestmark = pytest.mark.skipif(not available(DIRECTORY) or not shutil.which("keytool"), reason="needs Maven and a JDK")


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[str]:
    """The address of an LDAP server that knows one person."""
    people = tmp_path / "people.ldif"
    people.write_text(PEOPLE)
    command = ["java", "-Xmx64m", "-jar", str(fetched(DIRECTORY)), "in-memory-directory-server", "--port", "0"]
    command += ["--baseDN", "dc=example,dc=org", "--ldifFile", str(people)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        found = (re.search(r"port (\d+)", line) for line in server.stdout)
        port = next(match[1] for match in found if match)
        yield f"ldap://localhost:{port}"
        server.terminate()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A new key of this machine's, which is its own certificate."""
    keys = tmp_path / "keys.p12"
    made = ["keytool", "-genkeypair", "-keyalg", "RSA", "-alias", "server", "-dname", "CN=127.0.0.1", "-validity", "2"]
    made += ["-ext", "san=ip:127.0.0.1", "-storetype", "PKCS12", "-keystore", str(keys), "-storepass", "changeit"]
    subprocess.run(made, check=True, capture_output=True)
    return keys


def python_connection(server: ThriftServer, user: str, password: str, keys: Path) -> driver.Connection:
    """A connection of the dialect's driver, which trusts the server's certificate alone."""
    certificate = keys.with_suffix(".pem")
    exported = ["keytool", "-exportcert", "-rfc", "-keystore", str(keys), "-storepass", "changeit", "-alias", "server"]
    subprocess.run([*exported, "-file", str(certificate)], check=True, capture_output=True)
    return driver.connect(server.host, server.port, username=user, password=password, tls=True, tls_ca=str(certificate))


def test_only_who_the_directory_knows_may_connect_and_nobody_listens(
    spark: SparkSession, tmp_path: Path, directory: str, keys: Path
) -> None:
    session = paimon_sql.connect(tmp_path / "warehouse")
    session.sql("CREATE TABLE orders (id INT)")
    options = {
        HOST: "127.0.0.1",
        PORT: "0",
        "hive.server2.authentication": "LDAP",
        "hive.server2.authentication.ldap.url": directory,
        "hive.server2.authentication.ldap.baseDN": "ou=people,dc=example,dc=org",
        "hive.server2.use.SSL": "true",
        "hive.server2.keystore.path": str(keys),
        "hive.server2.keystore.password": "changeit",
    }
    server = ThriftServer(session, options)
    jvm = Bridge.of(session.sparkContext).jvm
    jvm.java_class("org.apache.hive.jdbc.HiveDriver")
    trusted = f"{server.url};ssl=true;sslTrustStore={keys};trustStorePassword=changeit"

    def connect(url: str, user: str, password: str) -> Any:
        return jvm.cls("java.sql.DriverManager").getConnection(url, user, password)

    try:
        with closing(connect(trusted, "ada", "secret")) as connection:
            answer = connection.createStatement().executeQuery("SHOW TABLES")
            assert answer.next()
            assert answer.getString("tableName") == "orders"
        for user, password in (("ada", "guess"), ("ada", ""), ("eve", "secret"), ("*", "secret")):
            with pytest.raises(Py4JJavaError, match="Peer indicated failure: Error validating the login"):
                connect(trusted, user, password)
            if password:
                with pytest.raises(driver.LostConnectionError, match="Error validating the login"):
                    python_connection(server, user, password, keys)
        with closing(python_connection(server, "ada", "secret", keys)) as connection:
            assert [row[2] for row in connection.call("GetTables", schemaName="%", tableName="%")] == ["orders"]
        with pytest.raises(Py4JJavaError, match="Could not open client transport"):
            connect(server.url, "ada", "secret")
    finally:
        server.stop()
