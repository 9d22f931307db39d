"""Sockets that listen: on this machine alone, and for the JVM's secret or a login in good time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaObject as Py4JObject
from pyhive import hive
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.jvm import callbacks
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.thrift.server import HOST, PORT, ThriftServer


@pytest.fixture
def jvm(spark: SparkSession) -> Jvm:
    return Bridge.of(spark.sparkContext).jvm


class Counter(Proxy):
    """Something that the JVM may call."""

    calls = 0

    def call(self) -> str:
        self.calls += 1
        return threading.current_thread().name

    implements = ["java.util.concurrent.Callable"]


def registered(jvm: Jvm, proxy: Proxy) -> tuple[Any, str]:
    """The Java object that a Python object answers for, and its name on the wire."""
    task = jvm.new("java.util.concurrent.FutureTask", proxy)
    known = jvm.gateway.gateway_property.pool.dict
    return task, next(key for key in list(known) if known[key] is proxy)


def test_callbacks_come_from_this_machine_and_with_the_secret_alone(jvm: Jvm) -> None:
    proxy = Counter(jvm)
    task, name = registered(jvm, proxy)
    address = jvm.gateway._callback_server.server_socket.getsockname()
    assert address[0] == "127.0.0.1"
    for said in (
        f"c\n{name}\ncall\ne\n",
        f"A\nwrong\ne\nc\n{name}\ncall\ne\n",
        f"A\n\ne\nc\n{name}\ncall\ne\n",
        f"g\n{name}\ne\n",
    ):
        with socket.create_connection(address) as stranger:
            stranger.settimeout(10)
            stranger.sendall(said.encode())
            try:
                answered = stranger.recv(1000)
            except ConnectionError:
                answered = b""
        assert not answered.startswith(b"!yv") and b"paimon" not in answered
    assert proxy.calls == 0
    task.run()
    assert proxy.calls == 1 and task.get()


def test_threads_of_the_jvm_call_python_with_the_secret(jvm: Jvm) -> None:
    proxies = [Counter(jvm) for _ in range(4)]
    service = jvm.cls("java.util.concurrent.Executors").newFixedThreadPool(4)
    try:
        for done in service.invokeAll(jvm.java_list(proxies)):
            assert done.get()
    finally:
        service.shutdown()
    assert [proxy.calls for proxy in proxies] == [1] * 4
    client = Py4JObject("GATEWAY_SERVER", jvm.gateway._gateway_client).getCallbackClient()
    assert client.getClass().getSimpleName() in ("PythonClient", "CallbackClient")


def test_a_connection_that_is_silent_is_not_waited_for(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "_GREETING_SECONDS", 0.3)
    address = jvm.gateway._callback_server.server_socket.getsockname()
    with ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(address)) for _ in range(5)]
        silent[0].sendall(b"A\nha")
        for one in silent:
            one.settimeout(10)
            with suppress(ConnectionResetError):
                assert one.recv(10) == b""
    proxy = Counter(jvm)
    task, _ = registered(jvm, proxy)
    task.run()
    assert proxy.calls == 1


def test_a_connection_that_dribbles_has_no_longer_time(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "_GREETING_SECONDS", 0.5)
    started = time.monotonic()
    address = jvm.gateway._callback_server.server_socket.getsockname()
    with socket.create_connection(address) as stranger, pytest.raises(OSError):
        while time.monotonic() - started < 10:
            stranger.sendall(b"A")
            time.sleep(0.05)
    assert time.monotonic() - started < 5


def test_a_greeting_without_an_end_takes_no_memory(jvm: Jvm) -> None:
    sent = 0
    with socket.create_connection(jvm.gateway._callback_server.server_socket.getsockname()) as stranger:
        stranger.settimeout(10)
        with pytest.raises(OSError):
            while sent < 100_000_000:
                sent += stranger.send(b"A" * 65_536)
    assert sent < 20_000_000


@pytest.fixture(scope="module")
def hasty(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    """A server that wants to know soon who connects, and has few threads."""
    session = paimon_sql.connect(tmp_path_factory.mktemp("served"))
    options = {
        PORT: "0",
        "hive.server2.thrift.login.timeout": "1s",
        "hive.server2.thrift.min.worker.threads": "1",
        "hive.server2.thrift.max.worker.threads": "6",
    }
    server = ThriftServer(session, options)
    yield server
    server.stop()


class Ends(Proxy):
    """Tells of the connection that it is called by, whether its ends wait for acknowledgements."""

    def __init__(self, jvm: Jvm) -> None:
        super().__init__(jvm)
        self.at_once: list[bool] = []

    def call(self) -> str:
        own = self.jvm.gateway._gateway_client.get_thread_connection().socket
        theirs = self.jvm.gateway.java_gateway_server.getCallbackClient().getPerThreadConnection()
        self.at_once = [
            bool(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)),
            theirs.getSocket().getTcpNoDelay(),
        ]
        return ""

    implements = ["java.util.concurrent.Callable"]


def test_texts_wait_for_no_acknowledgement_in_either_direction(spark: SparkSession, jvm: Jvm) -> None:
    found: list[bool] = []

    def parse_and_look() -> None:
        spark.sql("SELECT 1")
        ends = Ends(jvm)
        task, _ = registered(jvm, ends)
        task.run()
        found.extend(ends.at_once)

    parse_and_look()
    thread = threading.Thread(target=parse_and_look)
    thread.start()
    thread.join()
    assert found == [True] * 4


def test_a_thrift_server_listens_on_this_machine_alone_unless_told_otherwise(
    hasty: ThriftServer, spark: SparkSession, tmp_path: Path
) -> None:
    assert hasty.host == "127.0.0.1"
    everywhere = ThriftServer(paimon_sql.connect(tmp_path), {PORT: "0", HOST: "0.0.0.0"})
    try:
        assert everywhere.host == "0.0.0.0"
    finally:
        everywhere.stop()


def test_silent_connections_do_not_use_a_thrift_server_up(hasty: ThriftServer) -> None:
    with ExitStack() as held:
        silent = [held.enter_context(socket.create_connection((hasty.host, hasty.port))) for _ in range(12)]
        silent[0].sendall(b"\x01\x00\x00\x00\x05PL")
        time.sleep(2.5)  # until then all threads wait, and the server turns others away
        with closing(hive.connect(hasty.host, hasty.port, username="me")) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            assert cursor.fetchall() == [(1,)]
            cursor.close()


def test_a_connection_that_has_said_who_it_is_may_be_idle(hasty: ThriftServer) -> None:
    with closing(hive.connect(hasty.host, hasty.port, username="me")) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]
        time.sleep(2.5)
        cursor.execute("SELECT 2")
        assert cursor.fetchall() == [(2,)]
        cursor.close()
